import Bytes
import FoundationEssentials
import LibCurl
import Synchronization

/// Calls the operations of a gateway that are for app users. It knows the contract and nothing else of the gateway.
///
/// Each `POST` carries an `Idempotency-Key`, so that it can be repeated when its answer is lost.
public struct GatewayClient: Sendable {
    /// The gateway's origin, followed by a path if a proxy serves the gateway below one.
    public let origin: String
    /// Whether the key travels unencrypted to another machine.
    public let sendsKeyInClear: Bool
    let retries: Retries
    let timeout: Duration
    private let key: String

    /// Most bytes of an answer that are kept.
    static let maxBytes = 16 << 20

    /// Creates a client.
    ///
    /// - Parameters:
    ///   - url: The gateway's origin.
    ///   - key: The user's bearer token: an API key or a JWT.
    ///   - timeout: Time without any progress after which a request has failed.
    ///   - retries: How often requests are repeated.
    public init(url: String, key: String, timeout: Duration, retries: Retries) throws(ClientFailure) {
        guard let origin = ServerOrigin(url) else {
            throw .usage("'\(url)' is not the URL of a gateway. An example: https://gateway.example")
        }
        guard !key.isEmpty, key.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
            throw .usage("The key is not a valid bearer token.")
        }
        self.origin = origin.text
        sendsKeyInClear = origin.isInClear
        self.key = key
        self.timeout = timeout
        self.retries = retries
    }

    /// Asks for a link.
    public func link(_ request: LinkRequest) async throws(ClientFailure) -> Link {
        try await call("POST", "/v1/presigned-urls", request)
    }

    /// Asks for temporary credentials.
    ///
    /// - Parameter scope: The bucket, and after a slash the prefix.
    public func credentials(for scope: String) async throws(ClientFailure) -> TemporaryCredentials {
        let path = scope.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
            .map { String(Substring($0)).percentEncoded }.joined(separator: "/")
        return try await call("GET", "/v1/sts/aws/\(path)")
    }

    func start(_ request: MultipartRequest) async throws(ClientFailure) -> MultipartUpload {
        try await call("POST", "/v1/multipart-uploads", request)
    }

    func upload(_ id: String) async throws(ClientFailure) -> MultipartUpload {
        try await call("GET", "/v1/multipart-uploads/\(id)")
    }

    func abort(_ id: String) async throws(ClientFailure) {
        _ = try await send("DELETE", "/v1/multipart-uploads/\(id)", nil)
    }

    func links(_ parts: [PartRequest], of id: String) async throws(ClientFailure) -> [PartAnswer] {
        let answer: Envelope.Results<PartAnswer> = try await call(
            "POST", "/v1/multipart-uploads/\(id)/parts", Envelope.Parts(parts: parts))
        guard answer.results.count == parts.count else { throw Self.unreadable }
        return answer.results
    }

    func storedParts(of id: String) async throws(ClientFailure) -> [StoredPart] {
        var parts: [StoredPart] = []
        var token = ""
        repeat {
            let page: Envelope.Page<StoredPart> = try await call(
                "GET",
                "/v1/multipart-uploads/\(id)/parts?pageSize=1000"
                    + (token.isEmpty ? "" : "&pageToken=\(token.percentEncoded)"))
            parts += page.items
            guard page.nextPageToken != token else { throw Self.unreadable }
            token = page.nextPageToken ?? ""
        } while !token.isEmpty
        return parts
    }

    func complete(_ id: String, _ parts: [StoredPart]) async throws(ClientFailure) -> MultipartUpload {
        let list = parts.map { Envelope.CompletedPart(partNumber: $0.partNumber, etag: $0.etag) }
        return try await call("POST", "/v1/multipart-uploads/\(id)/complete", Envelope.Parts(parts: list))
    }

    func confirm(_ id: String) async throws(ClientFailure) -> UploadState {
        try await call("POST", "/v1/issuances/\(id):confirm", Envelope.Empty())
    }
}

extension GatewayClient {
    private static let unreadable = ClientFailure.unreachable("The gateway's answer cannot be read.")

    private func call<Answer: Decodable>(_ method: String, _ path: String) async throws(ClientFailure) -> Answer {
        try Self.decoded(try await send(method, path, nil))
    }

    private func call<Answer: Decodable>(
        _ method: String, _ path: String, _ body: some Encodable
    ) async throws(ClientFailure) -> Answer {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.withoutEscapingSlashes, .sortedKeys]
        let bytes: [UInt8]
        do { bytes = Array(try encoder.encode(body)) } catch { throw .usage("The request cannot be written as JSON.") }
        return try Self.decoded(try await send(method, path, bytes))
    }

    private static func decoded<Answer: Decodable>(_ bytes: [UInt8]) throws(ClientFailure) -> Answer {
        do { return try JSONDecoder().decode(Answer.self, from: Data(bytes)) } catch { throw unreadable }
    }

    /// Sends a request until it has an answer.
    private func send(_ method: String, _ path: String, _ body: [UInt8]?) async throws(ClientFailure) -> [UInt8] {
        var fields = [HTTPTransfer.Field("Authorization", "Bearer \(key)")]
        if body != nil { fields.append(.init("Content-Type", "application/json")) }
        if method == "POST" { fields.append(.init("Idempotency-Key", UUID().uuidString.lowercased())) }
        return try await retries.run { () async throws(ClientFailure) -> [UInt8] in
            try await attempt(method, path, fields, body)
        }
    }

    private func attempt(
        _ method: String, _ path: String, _ fields: [HTTPTransfer.Field], _ body: [UInt8]?
    ) async throws(ClientFailure) -> [UInt8] {
        let transfer = StreamedTransfer(
            method, origin + path, fields: fields,
            upload: body.map { .bytes($0) } ?? .none,
            connectTimeout: min(timeout, .seconds(30)), idleTimeout: timeout)
        let kept = ReceivedBody(atMost: Self.maxBytes)
        let result = await blocking(until: retries.stop) {
            () -> Result<StreamedTransfer.Head, StreamedTransfer.Failure> in
            Result { () throws(StreamedTransfer.Failure) in try transfer.perform { _, bytes in kept.append(bytes) } }
        }
        switch result {
        case nil: throw .stopped("Interrupted.")
        case .failure(let failure): throw ClientFailure(failure, at: origin)
        case .success(let head) where 200..<300 ~= head.status: return kept.bytes
        case .success(let head):
            let problem =
                (try? JSONDecoder().decode(Problem.self, from: Data(kept.bytes)))
                ?? (try? JSONDecoder().decode(ProtocolRefusal.self, from: Data(kept.bytes)))?.problem(head.status)
                ?? Problem(
                    status: head.status, code: "HTTP",
                    detail: "The answer is not one of a gateway. Is '\(origin)' its URL?")
            throw .gateway(problem, retryAfter: head["Retry-After"].flatMap { Int($0) })
        }
    }
}

extension ClientFailure {
    /// Describes a request without a whole answer.
    init(_ failure: StreamedTransfer.Failure, at origin: String) {
        self =
            switch failure {
            case .malformedHeader: .unreachable("A header that the gateway asked for contains a line break.")
            case .givenUp: .unreachable("\(origin): the answer is too long")
            case .notFound(let reason), .notConnected(let reason), .notTrusted(let reason), .notSecured(let reason),
                .late(let reason), .failed(let reason):
                .unreachable("\(origin): \(reason)")
            }
    }
}
