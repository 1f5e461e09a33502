public import LibCurl

/// Why a request to a server that a user chose has no whole answer. The texts are for people.
public enum TransportFailure: Error, Sendable, Equatable {
    /// The URL is not that of a gateway.
    case url(String)
    /// The key is not a bearer token.
    case key(String)
    /// A header contains a line break. Nothing was sent.
    case header(String)
    /// What reads the request's body, or takes the answer's, gave up.
    case givenUp(String)
    /// The server cannot be reached, or its answer is missing or incomplete.
    case unanswered(String)

    /// Explains why there is no whole answer.
    ///
    /// - Parameters:
    ///   - failure: What the transfer reports.
    ///   - origin: The origin of the server, as it may be shown.
    public init(_ failure: StreamedTransfer.Failure, at origin: String) {
        let note = UnusedProxy.note.map { " \($0)" } ?? ""
        self =
            switch failure {
            case .malformedHeader: .header("A header cannot contain a line break.")
            case .givenUp: .givenUp("A file could not be read or written completely.")
            case .notFound(let reason): .unanswered("The host of \(origin) cannot be found: \(reason).\(note)")
            case .notConnected(let reason): .unanswered("Nothing answers at \(origin): \(reason).\(note)")
            case .notTrusted(let reason): .unanswered("The certificate of \(origin) is not trusted: \(reason).")
            case .notSecured(let reason):
                .unanswered("\(origin) does not speak TLS as expected: \(reason). Is it an http URL?")
            case .late(let reason): .unanswered("\(origin) did not answer in time: \(reason).\(note)")
            case .failed(let reason): .unanswered("The connection to \(origin) failed: \(reason).")
            }
    }
}
