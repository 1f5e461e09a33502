import GatewayCore
import Synchronization

/// Answers with documents that the test sets. Other URLs answer 404.
final class StubIssuerDocuments: IssuerDocuments {
    private let documents: [String: Result<[UInt8], ProbeFailure>]
    private let requested = Mutex<[String]>([])
    private let exchanged = Mutex<[String]>([])
    private let wait: @Sendable (Duration?) async -> Void
    /// What token endpoints answer.
    let tokenAnswer: TokenEndpointAnswer

    /// The exchanges, each as URL, client and origin.
    var exchanges: [String] { exchanged.withLock { $0 } }

    /// The URLs that were requested, in the order of their names.
    var urls: [String] { requested.withLock { $0.sorted() } }

    init(
        _ documents: [String: String] = [:], failures: [String: ProbeFailure] = [:],
        tokenAnswer: TokenEndpointAnswer = .sample(), wait: @escaping @Sendable (Duration?) async -> Void = { _ in }
    ) {
        self.wait = wait
        self.tokenAnswer = tokenAnswer
        self.documents = documents.mapValues { .success(Array($0.utf8)) }
            .merging(failures.mapValues { .failure($0) }) { $1 }
    }

    func document(at url: String, within limit: Duration?) async -> IssuerDocument {
        await wait(limit)
        requested.withLock { $0.append(url) }
        let content = documents[url] ?? .failure(.refused(status: 404, code: nil))
        var status: Int? = 200
        if case .failure(let failure) = content {
            status = nil
            if case .refused(let refused, _) = failure { status = refused }
        }
        return IssuerDocument(content: content, status: status, duration: .milliseconds(3))
    }
}

extension StubIssuerDocuments {
    func exchange(at url: String, clientID: String, origin: String?) async -> TokenEndpointAnswer {
        exchanged.withLock { $0.append("\(url) \(clientID) \(origin ?? "-")") }
        return tokenAnswer
    }
}

extension TokenEndpointAnswer {
    /// The refusal of a code that nobody issued.
    static func sample(
        _ error: String = "invalid_grant", status: Int = 400, permits: Bool = true, preflight: Bool = true
    ) -> TokenEndpointAnswer {
        TokenEndpointAnswer(
            content: .success(Array(#"{"error":"\#(error)","error_description":"the code"}"#.utf8)), status: status,
            duration: .milliseconds(4), permitsOrigin: permits, preflightPermitsOrigin: preflight)
    }
}

extension TestGateway {
    /// Makes the row of an issuer, under the identifier that operations on rows use.
    func makeIssuer(_ issuer: Issuer = IssuerFixture.issuer()) async throws {
        var row = issuer
        row.id = MemoryUploads.openID
        _ = try await stores.issuers.create(row, by: ChangeContext(actor: .bootstrapAdmin, requestID: "r"))
    }
}
