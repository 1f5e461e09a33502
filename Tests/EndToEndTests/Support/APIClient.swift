import ContractTesting
import HTTPTesting
import Testing

/// A caller of a gateway, with one connection per request.
struct APIClient: Sendable {
    let port: UInt16
    /// Bearer token; empty for none.
    var token = ""
    /// Whether answers are held to the contract. A program of another version keeps its own.
    var keepsContract = true

    /// The bytes of a call, for callers that send them over their own connections.
    func request(
        _ method: String, _ target: String, _ body: JSON? = nil, headers: [(name: String, value: String)] = [],
        keepsConnection: Bool = true
    ) throws -> RawRequest {
        var fields = [(name: "Host", value: "127.0.0.1:\(port)")]
        if !token.isEmpty { fields.append((name: "Authorization", value: "Bearer \(token)")) }
        let bytes = try body?.bytes ?? []
        if body != nil {
            fields.append((name: "Content-Type", value: "application/json"))
            fields.append((name: "Content-Length", value: "\(bytes.count)"))
        }
        if !keepsConnection { fields.append((name: "Connection", value: "close")) }
        return RawRequest(method, target, headers: fields + headers, body: bytes)
    }

    /// Calls the gateway. Checks the answer against the contract.
    func call(
        _ method: String, _ target: String, _ body: JSON? = nil, headers: [(name: String, value: String)] = [],
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> Answer {
        let request = try request(method, target, body, headers: headers, keepsConnection: false)
        let answer = try await request.answer(fromPort: port)
        Deployment.keepSecrets(of: answer, from: port)
        if keepsContract { expectContractKept(request.exchange(answer), sourceLocation: sourceLocation) }
        return Answer(answer)
    }

    /// Asks for a URL.
    func ask(
        _ body: JSON, headers: [(name: String, value: String)] = [], sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> Answer {
        try await call("POST", "/v1/presigned-urls", body, headers: headers, sourceLocation: sourceLocation)
    }

    /// The same caller at another gateway.
    func at(_ port: UInt16) -> APIClient { APIClient(port: port, token: token, keepsContract: keepsContract) }
}

/// An answer of the gateway.
struct Answer: Sendable {
    let status: Int
    let json: JSON
    let raw: RawResponse

    init(_ raw: RawResponse) {
        self.raw = raw
        status = raw.status
        json = (try? JSON(raw.body)) ?? .null
    }

    /// The body as text.
    var text: String { raw.text }

    /// The stable code of a problem.
    var code: String? { json["code"].text }

    /// Value of a header field.
    subscript(name: String) -> String? { raw[name] }
}

/// A connection that is kept from one request to the next, and renewed once it is lost. Its calls block.
struct KeptConnection: ~Copyable {
    private var connection: RawConnection?
    private let keepsContract: Bool

    /// Makes a connection to a gateway whose answers are held to the contract, or to one of another version.
    init(keepsContract: Bool = true) { self.keepsContract = keepsContract }

    /// Sends a request and reads the answer. Checks the first few answers of each kind against the contract.
    mutating func exchange(_ request: borrowing RawRequest, port: UInt16) throws -> RawResponse {
        if connection == nil { connection = try RawConnection(port: port) }
        do {
            try connection?.send(request.bytes)
            guard let answer = try connection?.response(toHead: request.method == "HEAD") else {
                throw RawHTTPError.closedEarly
            }
            if answer["Connection"]?.lowercased() == "close" { connection = nil }
            Deployment.keepSecrets(of: answer, from: port)
            if keepsContract { expectContractKept(request.exchange(answer), atMost: 20) }
            return answer
        } catch {
            connection = nil
            throw error
        }
    }
}
