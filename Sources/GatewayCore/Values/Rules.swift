/// Throws `invalidArgument` for a field unless a rule holds.
func require(
    _ holds: Bool, _ field: String, _ reason: @autoclosure () -> String
) throws(GatewayError) {
    guard holds else { throw .invalidArgument(field: field, reason: reason()) }
}

extension String {
    /// Whether the text is one line without control characters, with a number of bytes in the range.
    func isLine(_ byteCounts: ClosedRange<Int>) -> Bool {
        byteCounts ~= utf8.count && unicodeScalars.allSatisfy { $0.properties.generalCategory != .control }
    }

    /// Whether the text has only visible ASCII characters, with a number of bytes in the range.
    func isVisible(_ byteCounts: ClosedRange<Int>) -> Bool {
        byteCounts ~= utf8.count && utf8.allSatisfy { 0x21...0x7e ~= $0 }
    }
}
