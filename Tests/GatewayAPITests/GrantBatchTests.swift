import Foundation
import GatewayCore
import HTTPServing
import HTTPTypes
import Synchronization
import Testing

@Suite("A batch of grants")
struct GrantBatchTests {
    private static let path = "/admin/v1/grants:apply"
    private static let id = "0198c5a1-7a3b-7c11-9f6e-3f1d2c4b5a69"
    private static let other = "0198c5a1-7a3b-7c11-9f6e-3f1d2c4b5a70"
    private static let grant = #""principal":"user:bob","bucket":"photos","prefix":"a/","actions":["PutObject"]"#

    private let gateway = TestGateway()

    private func apply(_ json: String) async -> TestAnswer {
        await gateway.send(.post, Self.path, token: "admin-token", json: json)
    }

    private var batches: [GrantBatch] { gateway.stores.grantBulk.batches.withLock { $0 } }

    private func errors(_ answer: TestAnswer) -> [[String: Any]] { answer.json["errors"] as? [[String: Any]] ?? [] }

    @Test("items reach the store with their places, identifiers and states")
    func items() async throws {
        let answer = await apply(
            """
            {"writes": [{\(Self.grant)}, {"id": "\(Self.id.uppercased())", "ifMatch": "\\"\(Self.other)\\"", \(Self.grant)},
                {"id": "\(Self.other)", "ifMatch": "*", \(Self.grant), "createdBy": "x", "createdAt": "2030-01-01T00:00:00Z"}],
             "deletes": [{"id": "0198c5a1-7a3b-7c11-9f6e-3f1d2c4b5a71", "ifMatch": "\\"else\\""}]}
            """)
        #expect(answer.status == 200, "\(answer.text)")
        let batch = try #require(batches.first)
        #expect(batch.writes.map(\.place) == [0, 1, 2] && !batch.isDryRun)
        #expect(batch.writes.map(\.id) == [nil, uuid(Self.id), uuid(Self.other)])
        #expect(batch.writes.map(\.revision) == [nil, uuid(Self.other), nil])
        #expect(batch.writes[0].grant.principal.rawValue == "user:bob")
        // A tag in another form matches no state.
        #expect(batch.removals.map(\.revision) == [uuid("00000000-0000-0000-0000-000000000000")])
        #expect(answer.number("created") == 1 && answer.number("deleted") == 1 && answer.number("unchanged") == 0)
        #expect(answer.string("changeID") == MemoryGrantBulk.change.lowercaseText)
        let writes = answer.json["writes"] as? [[String: String]] ?? []
        #expect(writes.map { $0["result"] } == ["created", "updated", "updated"])
        #expect(writes[1]["id"] == Self.id && writes[1]["etag"] == "\"\(MemoryGrantBulk.change.lowercaseText)\"")
    }

    @Test("a dry run says so, to the store and in the answer")
    func dryRun() async {
        let answer = await apply(#"{"dryRun": true, "writes": [{\#(Self.grant)}]}"#)
        #expect(answer.json["dryRun"] as? Bool == true && answer.json["changeID"] == nil)
        #expect(batches.map(\.isDryRun) == [true])
        #expect(await apply(#"{"deletes": []}"#).status == 200)
    }

    @Test("every item that is wrong is named, and nothing reaches the store")
    func refusals() async {
        let answer = await apply(
            """
            {"writes": [{\(Self.grant)}, {"principal": "bob"}, 7, {\(Self.grant), "color": "red"},
                {\(Self.grant), "ifMatch": "*"}, {\(Self.grant), "ifMatch": "\\"\(Self.id)\\""},
                {\(Self.grant), "id": "\(Self.id)", "notBefore": "2030-01-02T00:00:00Z", "notAfter": "2030-01-01T00:00:00Z"},
                {\(Self.grant), "id": "\(Self.id)"}, {\(Self.grant), "note": "\\u0007"}],
             "deletes": [{}, {"id": "\(Self.id)"}, {"id": "\(Self.other)"}, {"id": "\(Self.other)"},
                {"id": "\(Self.other)", "ifMatch": "bare"}]}
            """)
        #expect(answer.status == 400 && answer.string("code") == "InvalidArgument")
        #expect(batches.isEmpty)
        let told = errors(answer).map { "\($0["field"] as? String ?? "-")" }
        #expect(
            told == [
                "writes[1].principal", "writes[2]", "writes[3].color", "writes[5].ifMatch", "writes[6].notAfter",
                "writes[7].id", "writes[8].note", "deletes[0].id", "deletes[1].id", "deletes[3].id", "deletes[4].id",
            ])
        #expect(errors(answer).compactMap { $0["index"] as? Int } == [1, 2, 3, 5, 6, 7, 8, 0, 1, 3, 4])
        #expect(errors(answer).first?["array"] as? String == "writes" && answer.json["line"] == nil)
    }

    @Test(
        "10,000 items are taken together, no more",
        arguments: [(4_000, 6_000), (4_001, 6_000)])
    func count(writes: Int, deletes: Int) async {
        let items = Array(repeating: "{\(Self.grant)}", count: writes).joined(separator: ",")
        let removals = (0..<deletes).map { _ in #"{"id": "\#(UUID().uuidString)"}"# }.joined(separator: ",")
        let answer = await apply(#"{"writes": [\#(items)], "deletes": [\#(removals)]}"#)
        #expect(answer.status == (writes + deletes <= 10_000 ? 200 : 400))
        #expect(batches.count == (writes + deletes <= 10_000 ? 1 : 0))
    }

    @Test("only so many refusals are told")
    func manyRefusals() async {
        let answer = await apply(#"{"writes": [\#(Array(repeating: "1", count: 500).joined(separator: ","))]}"#)
        #expect(errors(answer).count == 100)
    }

    @Test(
        "what the store refuses has the status and code of the first item",
        arguments: [
            (GatewayError.notFound(.grant), 404, "NoSuchGrant"), (.preconditionFailed, 412, "PreconditionFailed"),
            (.conflict(reason: "The bucket does not exist."), 409, "Conflict"),
        ])
    func storeRefusals(error: GatewayError, status: Int, code: String) async {
        gateway.stores.grantBulk.failure.withLock {
            $0 = GatewayError(refusing: [
                ItemRefusal(.item(array: "deletes", index: 3), error),
                ItemRefusal(.item(array: "writes", index: 1), .preconditionFailed),
            ])
        }
        let answer = await apply(#"{"writes": [{\#(Self.grant)}]}"#)
        #expect(answer.status == status && answer.string("code") == code)
        #expect(errors(answer).compactMap { $0["code"] as? String } == [code, "PreconditionFailed"])
        #expect(errors(answer).compactMap { $0["index"] as? Int } == [3, 1])
    }

    @Test("a compressed body is not taken")
    func contentCoding() async {
        let answer = await gateway.send(
            .post, Self.path, token: "admin-token", headers: [.contentEncoding: "gzip"], json: "{}")
        #expect(answer.status == 415 && answer.string("detail")?.contains("Content-Encoding") == true)
    }
}
