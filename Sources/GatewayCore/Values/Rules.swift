/// Refuses a field unless something holds.
func require(
    _ holds: Bool, _ field: String, _ reason: @autoclosure () -> String
) throws(GatewayError) {
    guard holds else { throw .invalidArgument(field: field, reason: reason()) }
}

extension String {
    /// Whether this is one line of text for people or machines, within a number of bytes, without control characters.
    func isLine(_ byteCounts: ClosedRange<Int>) -> Bool {
        byteCounts ~= utf8.count && unicodeScalars.allSatisfy { $0.properties.generalCategory != .control }
    }

    /// Whether this is made of visible ASCII characters, within a number of bytes.
    func isVisible(_ byteCounts: ClosedRange<Int>) -> Bool {
        byteCounts ~= utf8.count && utf8.allSatisfy { 0x21...0x7e ~= $0 }
    }
}
