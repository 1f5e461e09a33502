/// A name and its value: a header, a decoded query parameter, or a field of a form.
public struct NamedValue: Sendable, Hashable {
    /// The name.
    public var name: String
    /// The value. A query parameter with an empty value is a bare name.
    public var value: String

    /// Pairs a name with a value.
    public init(_ name: String, _ value: String) {
        self.name = name
        self.value = value
    }
}
