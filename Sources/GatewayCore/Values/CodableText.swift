/// A text that JSON holds as it is.
public protocol CodableText: Codable {
    /// The text.
    var rawValue: String { get }

    /// Reads the text.
    ///
    /// - Throws: ``GatewayError/invalidArgument(field:reason:)`` if it has another form.
    init(_ rawValue: String) throws(GatewayError)
}

extension CodableText {
    /// Reads the text form.
    public init(from decoder: any Decoder) throws {
        try self.init(decoder.singleValueContainer().decode(String.self))
    }

    /// Writes the text form.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(rawValue)
    }
}
