import MicroHTTPD

extension HTTPServerError {
    /// What an operator can do, in a sentence or two.
    var advice: String {
        switch self {
        case .invalidAddress: "Give a numeric address and a port, such as 127.0.0.1:8080 or [::1]:8080."
        case .cannotListen(let address, let port, _):
            """
            Stop what listens at \(address) port \(port) ('ss -ltnp' names it), or choose another address or port. \
            Ports below 1024 need a right of their own.
            """
        case .unusableSocket: "Correct the unit of the socket: 'ListenStream=' with an address and a port."
        case .unreadableFile: "Correct the path, or let the user that runs 'sluice serve' read the file."
        case .unusableFile:
            """
            SLUICE_TLS_CERTIFICATE_FILE needs the certificates in PEM, the server's own first, and \
            SLUICE_TLS_KEY_FILE the private key of that one in PEM, without a password.
            """
        case .tooFewDescriptors(_, let needed):
            """
            Raise the limit of open files, by 'LimitNOFILE=' in the unit or 'ulimit -n', to \(needed) and one for each \
            further client.
            """
        case .tlsUnsupported: "Install a libmicrohttpd with HTTPS, as Debian has it, or leave TLS to a proxy."
        case .cannotStart:
            "Look at the limits of open files and of memory. SLUICE_LOG_LEVEL=debug has libmicrohttpd's reason logged."
        }
    }
}
