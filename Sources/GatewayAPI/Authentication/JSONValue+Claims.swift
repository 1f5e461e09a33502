import StrictJSON

extension JSONValue {
    /// The value of a claim; `nil` where it is absent or null.
    ///
    /// - Parameter path: A member's whole name. If no member has that name, the path is read as names with dots between
    ///   them that lead into nested objects.
    subscript(claim path: String) -> JSONValue? {
        let found: JSONValue? =
            self[path]
            ?? path.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false).reduce(self) {
                value, name in
                value?[String(Substring(name))]
            }
        return found == .null ? nil : found
    }

    /// Seconds since 1970, the form of times in claims (RFC 7519, section 2); `nil` for anything else, and for years
    /// after 9999.
    var numericDate: Double? {
        guard case .number(let digits) = self, let seconds = Double(digits), 0..<253_402_300_800 ~= seconds else {
            return nil
        }
        return seconds
    }
}
