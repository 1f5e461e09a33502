/// Wraps a value and hides it from descriptions, reflection and string interpolation.
public struct Secret<Value: Sendable>: Sendable, CustomStringConvertible, CustomDebugStringConvertible,
    CustomReflectable
{
    private let value: Value

    /// Wraps a secret value.
    public init(_ value: Value) {
        self.value = value
    }

    /// Returns the secret value. Call it only where the value is used.
    public func reveal() -> Value {
        value
    }

    /// Always `«redacted»`.
    public var description: String { "«redacted»" }

    /// Always `«redacted»`.
    public var debugDescription: String { description }

    /// A mirror without children, so reflection shows nothing.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

extension Secret: Equatable where Value: Equatable {}
extension Secret: Hashable where Value: Hashable {}
