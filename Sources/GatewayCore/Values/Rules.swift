import Bytes

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

    /// Whether the text may be the value of a header field: 1 to 1,024 printable ASCII characters, spaces only inside.
    var isHeaderValue: Bool {
        let space = UInt8(ascii: " ")
        return consists(of: .printable, count: 1...1024) && utf8.first != space && utf8.last != space
    }
}
