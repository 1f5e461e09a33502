import Bytes

extension JSONValue {
    /// The member with exactly this name; `nil` where there is none, or where this value is not an object.
    public subscript(name: String) -> JSONValue? {
        guard case .object(let members) = self else { return nil }
        return members.first { $0.name.isSameBytes(as: name) }?.value
    }

    /// The strings of an array of strings, or of one string; `nil` for anything else.
    public var strings: [String]? {
        switch self {
        case .string(let text): return [text]
        case .array(let items):
            var texts: [String] = []
            for item in items {
                guard case .string(let text) = item else { return nil }
                texts.append(text)
            }
            return texts
        default: return nil
        }
    }
}
