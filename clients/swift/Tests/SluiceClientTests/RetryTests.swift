import Foundation
import Testing

@testable import SluiceClient

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

struct RetryTests {
    /// The cases of `clients/retries.json`.
    private static func cases() throws -> [[String: Any]] {
        let root = URL(fileURLWithPath: #filePath).pathComponents.dropLast(5).joined(separator: "/").dropFirst()
        let bytes = try Data(contentsOf: URL(fileURLWithPath: "\(root)/clients/retries.json"))
        let table = try #require(try JSONSerialization.jsonObject(with: bytes) as? [String: Any])
        return try #require(table["cases"] as? [[String: Any]])
    }

    /// The error that a client makes of the refusal.
    private static func error(_ refusal: [String: Any]) throws -> SluiceError {
        let status = try #require(refusal["status"] as? Int)
        let seconds = refusal["retryAfter"] as? Int
        let url = try #require(URL(string: "http://127.0.0.1:1/"))
        let response = HTTPURLResponse(
            url: url, statusCode: status, httpVersion: nil, headerFields: seconds.map { ["Retry-After": "\($0)"] })
        let head = try #require(AnswerHead(response))
        var body = Data("<html>".utf8)
        if let problem = refusal["problem"] { body = try JSONSerialization.data(withJSONObject: problem) }
        if let code = refusal["code"] as? String { body = Data("<Error><Code>\(code)</Code></Error>".utf8) }
        switch refusal["from"] as? String {
        case "store": return SluiceError(storeRefusal: Answer(head: head, body: body))
        case "part":
            let answer = Data(#"{"results": ["#.utf8) + body + Data("]}".utf8)
            let found = #expect(throws: SluiceError.self) {
                _ = try Coding.decode(OnlyResult<Sluice.Link>.self, from: answer)
            }
            return try #require(found)
        default: return SluiceError(refusal: Answer(head: head, body: body))
        }
    }

    @Test("what is sent again, and how long that waits, is what clients/retries.json says")
    func table() throws {
        let cases = try Self.cases()
        #expect(cases.count > 30)
        for refusal in cases {
            let error = try Self.error(refusal)
            let wanted = (refusal["waits"] as? Int).map { Duration.seconds($0) }
            let found = error.mayPass ? error.retryAfter ?? .zero : nil
            let name = try #require(refusal["name"] as? String)
            #expect(found == wanted, "\(name)")
        }
    }
}
