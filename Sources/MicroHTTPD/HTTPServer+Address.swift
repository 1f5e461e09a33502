extension HTTPServer {
    /// Checks that a server could listen on an address. It binds the address for a moment and does not listen.
    ///
    /// - Throws: ``HTTPServerError`` if the address is malformed, in use, not of this machine, or not permitted.
    public static func checkAddress(_ address: String, port: UInt16) throws(HTTPServerError) {
        try ListeningSocket.tryBinding(address: address, port: port)
    }
}
