/// A value to be taken apart, within a text that was read or by itself.
public enum JSONNode: Sendable {
    /// At a place of a text.
    case text(JSONText, Int)
    /// By itself.
    case tree(JSONValue)

    /// The value with everything in it.
    public var value: JSONValue {
        switch self {
        case .text(let text, let place): text.value(at: place)
        case .tree(let value): value
        }
    }

    /// Whether it is null.
    public var isNull: Bool {
        switch self {
        case .text(let text, let place): text.kind(at: place) == .null
        case .tree(let value): value == .null
        }
    }

    /// The text, where it is a string.
    public var string: String? {
        switch self {
        case .text(let text, let place):
            switch text.kind(at: place) {
            case .string, .plainString: return text.text(at: place)
            default: return nil
            }
        case .tree(.string(let text)): return text
        case .tree: return nil
        }
    }

    /// The items, where it is an array.
    public var items: [JSONNode]? {
        switch self {
        case .text(let text, let place):
            guard text.kind(at: place) == .array else { return nil }
            return text.items(at: place).map { .text(text, $0) }
        case .tree(.array(let items)): return items.map { .tree($0) }
        case .tree: return nil
        }
    }
}
