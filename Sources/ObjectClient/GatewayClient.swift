import Bytes
import FoundationEssentials
import GatewayTransport
import LibCurl

/// Calls the operations of a gateway that are for app users. It knows the contract and nothing else of the gateway.
///
/// Each `POST` carries an `Idempotency-Key`, so that it can be repeated when its answer is lost.
public struct GatewayClient: Sendable {
    let retries: Retries
    let timeout: Duration
    private let gateway: RemoteGateway

    /// Creates a client.
    ///
    /// - Parameters:
    ///   - url: The gateway's origin.
    ///   - key: The user's bearer token: an API key or a JWT.
    ///   - timeout: Time without any progress after which a request has failed.
    ///   - retries: How often requests are repeated.
    public init(url: String, key: String, timeout: Duration, retries: Retries) throws(ClientFailure) {
        do throws(TransportFailure) {
            gateway = try RemoteGateway(url: url, key: key, timeout: timeout)
        } catch {
            throw ClientFailure(error)
        }
        self.timeout = timeout
        self.retries = retries
    }

    /// What a user should know before the first request; `nil` if there is nothing to warn about.
    public var warning: String? { gateway.warning }

    /// The gateway's origin, followed by a path if a proxy serves the gateway below one.
    var origin: String { gateway.origin }

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

    /// Asks for a link for each part. A part whose link is refused for a while is asked for again.
    func links(_ parts: [PartRequest], of id: String) async throws(ClientFailure) -> [Link] {
        var links: [Int: Link] = [:]
        let failure = try await retries.run { () async throws(ClientFailure) -> ClientFailure? in
            let missing = parts.filter { links[$0.partNumber] == nil }
            let answer: Envelope.Results<PartAnswer>
            do throws(ClientFailure) {
                answer = try await call(
                    "POST", "/v1/multipart-uploads/\(id)/parts", Envelope.Parts(parts: missing))
            } catch {
                // The request was repeated already.
                return error
            }
            guard answer.results.count == missing.count else { return Self.unreadable }
            var refusal: ClientFailure?
            for (part, result) in zip(missing, answer.results) {
                switch result {
                case .link(let link): links[part.partNumber] = link
                case .problem(let problem):
                    refusal = refusal ?? ClientFailure(problem)
                }
            }
            if let refusal { throw refusal }
            return nil
        }
        if let failure { throw failure }
        return parts.compactMap { links[$0.partNumber] }
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
        return try await call("POST", "/v1/multipart-uploads/\(id):complete", Envelope.Parts(parts: list))
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
        var fields = Self.fields(method, body)
        var isAskedAnew = false
        return try await retries.run { () async throws(ClientFailure) -> [UInt8] in
            do throws(ClientFailure) { return try await attempt(method, path, fields, body) } catch {
                // What the lost answer held is of no use any more. Asked anew, once, the gateway makes another one.
                guard case .gateway(let problem, _) = error, problem.code == "IdempotentAnswerGone", !isAskedAnew else {
                    throw error
                }
            }
            isAskedAnew = true
            fields = Self.fields(method, body)
            return try await attempt(method, path, fields, body)
        }
    }

    private static func fields(_ method: String, _ body: [UInt8]?) -> [HTTPTransfer.Field] {
        var fields: [HTTPTransfer.Field] = []
        if body != nil { fields.append(.init("Content-Type", "application/json")) }
        if method == "POST" { fields.append(.init("Idempotency-Key", UUID().uuidString.lowercased())) }
        return fields
    }

    private func attempt(
        _ method: String, _ path: String, _ fields: [HTTPTransfer.Field], _ body: [UInt8]?
    ) async throws(ClientFailure) -> [UInt8] {
        let gateway = gateway
        let upload = body.map { StreamedTransfer.Upload.bytes($0) } ?? StreamedTransfer.Upload.none
        let result = await blocking(until: retries.stop) { () -> Result<RemoteGateway.Answer, TransportFailure> in
            Result { () throws(TransportFailure) in
                try gateway.send(method, path, fields: fields, upload: upload)
            }
        }
        switch result {
        case nil: throw .stopped("Interrupted.")
        case .failure(let failure): throw ClientFailure(failure)
        case .success(let answer) where answer.isSuccess: return answer.body
        case .success(let answer): throw refusal(answer)
        }
    }

    /// The refusal that an answer holds.
    func refusal(_ answer: RemoteGateway.Answer) -> ClientFailure {
        let status = answer.head.status
        let problem =
            (try? JSONDecoder().decode(Problem.self, from: Data(answer.body)))
            ?? (try? JSONDecoder().decode(ProtocolRefusal.self, from: Data(answer.body)))?.problem(status)
            ?? Problem(status: status, code: RemoteGateway.unknownAnswerCode, detail: gateway.unknownAnswerText)
        return ClientFailure(problem, retryAfter: answer.head["Retry-After"].flatMap { Int($0) })
    }
}

extension ClientFailure {
    /// Describes a request without a whole answer.
    init(_ failure: TransportFailure) {
        self =
            switch failure {
            case .url(let text), .key(let text), .header(let text): .usage(text)
            case .givenUp(let text): .file(text)
            case .unanswered(let text): .unreachable(text)
            }
    }
}
