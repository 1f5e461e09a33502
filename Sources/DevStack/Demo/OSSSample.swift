import FoundationEssentials
public import HTTPServing
import HTTPTypes
import LibCurl

/// Serves `/distribute-token.json` at the address that the sample of the OSS SDK for iOS has in its source. The answer
/// is the gateway's, for ``DemoWorld/user``.
///
/// The sample sends no password. Therefore this is for development on loopback only.
public final class OSSSample: HTTPResponder {
    private let gateway: String
    private let token: String
    private let transfers = HTTPTransfers(shares: [.init(atOnce: 4, perOrigin: 4, waiting: 16, lookUps: 1)])

    private static let path = "/distribute-token.json"

    /// Serves the credentials of the demo user.
    ///
    /// - Parameters:
    ///   - gateway: Origin of the gateway on loopback, such as `http://127.0.0.1:8080`.
    ///   - keys: The tokens of the demo.
    public init(gateway: String, keys: DemoKeys) {
        self.gateway = gateway
        token = keys.userToken
    }

    /// No request has a body.
    public func begin(_ head: RequestHead) -> RequestPlan { RequestPlan(.collect(maxBytes: 0)) }

    /// Passes the gateway's answer on.
    public func respond(to request: ServerRequest) async -> ServerResponse {
        let path = request.head.target.prefix { $0 != "?" }
        guard path == Self.path, request.head.method == .get || request.head.method == .head else {
            return ServerResponse(head: ResponseHead(status: .notFound))
        }
        // A page of another origin must not read credentials, even if its name leads to this address.
        let host = request.head.authority.split(separator: ":").first
        guard host == "127.0.0.1" || host == "localhost", request.head.headerFields[.origin] == nil else {
            return ServerResponse(head: ResponseHead(status: .forbidden))
        }
        let url = "\(gateway)/v1/sts/oss?bucket=\(DemoWorld.ossBucket)&prefix=\(DemoWorld.prefix)"
        guard let parts = URLComponents(string: gateway), let name = parts.host, let port = parts.port else {
            return ServerResponse(head: ResponseHead(status: .badGateway))
        }
        let transfer = HTTPTransfer(
            .get, url, at: HTTPTransfer.Origin(isSecure: false, host: name, port: port),
            fields: [.init("authorization", "Bearer \(token)")], maxBytes: 64 << 10, timeout: .seconds(10)
        ) { _ in true }
        guard let answer = try? await transfers.perform(transfer, share: 0) else {
            return ServerResponse(head: ResponseHead(status: .badGateway))
        }
        return ServerResponse(
            head: ResponseHead(
                status: HTTPResponse.Status(code: answer.status),
                headerFields: [.contentType: "application/json", .cacheControl: "no-store"]),
            body: .bytes(answer.body))
    }

    /// Answers without a body.
    public func response(to failure: ServerFailure) -> ServerResponse {
        ServerResponse(head: ResponseHead(status: failure.status))
    }
}
