/// A value that no description, reflection or interpolation shows.
public struct Secret<Value: Sendable>: Sendable, CustomStringConvertible, CustomDebugStringConvertible,
    CustomReflectable
{
    private let value: Value

    /// Wraps a secret.
    public init(_ value: Value) {
        self.value = value
    }

    /// Hands the secret out, at the one place that needs it.
    public func reveal() -> Value {
        value
    }

    /// Always `«redacted»`.
    public var description: String { "«redacted»" }

    /// Always `«redacted»`.
    public var debugDescription: String { description }

    /// A mirror without children.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

extension Secret: Equatable where Value: Equatable {}
extension Secret: Hashable where Value: Hashable {}
