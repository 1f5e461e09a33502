/// A name and its value: of a header, of a decoded query parameter, or of a field of a form.
public struct NamedValue: Sendable, Hashable {
    /// The name.
    public var name: String
    /// The value; for a query parameter, empty stands for the bare name.
    public var value: String

    /// Pairs a name with a value.
    public init(_ name: String, _ value: String) {
        self.name = name
        self.value = value
    }
}
