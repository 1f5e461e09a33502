import Foundation
import Testing

@testable import GatewayTransport
@testable import LibCurl
@testable import ObjectClient

/// The rule for what is sent again, which three clients share.
@Suite struct RetryTests {
    /// The cases of `clients/retries.json`.
    private static func cases() throws -> [[String: Any]] {
        let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let bytes = try Data(contentsOf: root.appending(path: "clients/retries.json"))
        let table = try #require(try JSONSerialization.jsonObject(with: bytes) as? [String: Any])
        return try #require(table["cases"] as? [[String: Any]])
    }

    /// The failure that a client makes of the refusal.
    private static func failure(_ refusal: [String: Any]) throws -> ClientFailure {
        let status = try #require(refusal["status"] as? Int)
        let seconds = refusal["retryAfter"] as? Int
        var body = Array("<html>".utf8)
        if let problem = refusal["problem"] { body = Array(try JSONSerialization.data(withJSONObject: problem)) }
        if let code = refusal["code"] as? String { body = Array("<Error><Code>\(code)</Code></Error>".utf8) }
        switch refusal["from"] as? String {
        case "store": return .store(StoreRefusal(status: status, body: body), retryAfter: seconds)
        case "part": return ClientFailure(try JSONDecoder().decode(Problem.self, from: Data(body)))
        default:
            let client = try GatewayClient(
                url: "http://127.0.0.1:1", key: "key", timeout: .seconds(1),
                retries: Retries(limit: 0, stop: StopFlag()))
            let fields = seconds.map { [(name: "Retry-After", value: "\($0)")] } ?? []
            return client.refusal(RemoteGateway.Answer(head: .init(status: status, fields: fields), body: body))
        }
    }

    @Test func `what is sent again, and how long that waits, is as the table of the clients says`() throws {
        let cases = try Self.cases()
        #expect(cases.count > 30)
        for refusal in cases {
            let failure = try Self.failure(refusal)
            let found = failure.mayPass ? failure.retryAfter ?? 0 : nil
            let wanted = refusal["waits"] as? Int
            let name = try #require(refusal["name"] as? String)
            #expect(found == wanted, "\(name)")
        }
    }
}
