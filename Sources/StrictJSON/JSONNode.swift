/// A value to decode, either inside a parsed text or standalone.
public enum JSONNode: Sendable {
    /// A value at a place in a parsed text.
    case text(JSONText, Int)
    /// A standalone value.
    case tree(JSONValue)

    /// The value with all values inside it.
    public var value: JSONValue {
        switch self {
        case .text(let text, let place): text.value(at: place)
        case .tree(let value): value
        }
    }

    /// The text; `nil` if the value is not a string.
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

    /// The items; `nil` if the value is not an array.
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
