import ContractTesting
import Foundation
import GatewayCore
import HTTPTypes
import Testing

/// The rows that the documentation tells readers to make, and what it then does with them.
@Suite("The documents' rows") struct DocumentedRowsTests {
    /// The bodies that a page of the documentation posts to a collection, in order.
    private func bodies(_ collection: String, in text: String) -> [String] {
        text.split(separator: "admin $api/\(collection)?ifExists=return -d '").dropFirst().compactMap { rest in
            rest.range(of: "'\n").map { String(rest[..<$0.lowerBound]) }
        }
    }

    private func page(_ name: String) throws -> String {
        try String(contentsOf: ContractDocument.repository.appending(path: "docs/\(name)"), encoding: .utf8)
    }

    @Test("of the reasons for refusals name each reason once")
    func reasons() throws {
        let lines = try page("ledger.md").split(separator: "\n", omittingEmptySubsequences: false)
        let table = lines.drop { $0 != "| reason | what helps |" }.dropFirst(2).prefix { $0.hasPrefix("|") }
        let named = table.flatMap { line in
            line.split(separator: "|")[0].matches(of: #/`(\w+)`/#).map { String($0.output.1) }
        }
        #expect(named.sorted() == RefusalReason.allCases.map(\.rawValue).sorted())
    }

    @Test("are taken by the API, and give the SDKs whole sessions")
    func grants() async throws {
        let (rows, mobile) = (try page("administration.md"), try page("oss-sdks.md"))
        let first = try #require(bodies("grants", in: rows).first)
        let ofMobile = bodies("grants", in: mobile)
        try #require(ofMobile.count == 1)
        for body in [first, ofMobile[0]] {
            let admins = TestGateway()
            let made = await admins.send(.post, "/admin/v1/grants", token: "admin-token", json: body)
            try #require(made.status == 201, "\(made.text)")
            let grant = try #require(await admins.stores.grants.list(ListQuery()).items.last)
            #expect(grant.principal.rawValue == "user:alice" && grant.prefix.text == "users/alice/")
            // Of a grant, only what it allows and demands matters here.
            var policy = StubPolicy()
            policy.conditions = grant.conditions
            #expect(grant.actions == [.putObject, .getObject])
            let answer = await TestGateway(policy: policy).send(
                .get, "/v1/sts/oss?bucket=photos&prefix=uploads/&actions=PutObject,GetObject", token: "user-token")
            #expect(answer.string("Code") == "Success" && answer.json["StatusMessage"] == nil, "\(answer.text)")
        }
        for body in bodies("grants", in: rows).dropFirst() + bodies("quotas", in: rows) {
            let path = body.contains("metric") ? "/admin/v1/quotas" : "/admin/v1/grants"
            let made = await TestGateway().send(.post, path, token: "admin-token", json: body)
            #expect(made.status == 201, "\(made.text)")
            // A quota of bytes refuses sessions that may upload.
            #expect(made.string("metric") != "bytes")
        }
    }
}
