/// Methods of requests.
enum RequestMethod {
    /// Checks a method.
    ///
    /// - Throws: ``SigningError/invalidMethod(_:)`` unless it consists of upper-case letters.
    static func check(_ method: String) throws(SigningError) {
        let bytes = method.utf8Span.span
        var isMethod = !bytes.isEmpty
        for index in bytes.indices where !(0x41...0x5A ~= bytes[index]) { isMethod = false }
        guard isMethod else { throw .invalidMethod(method) }
    }
}
