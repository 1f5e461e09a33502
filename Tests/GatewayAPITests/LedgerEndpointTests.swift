import Foundation
import GatewayCore
import HTTPServing
import HTTPTypes
import Testing

@Suite("The ledger as auditors read it")
struct LedgerEndpointTests {
    private func get(_ path: String) async -> TestAnswer {
        await TestGateway().send(.get, "/admin/v1/" + path, token: "auditor-token")
    }

    @Test("is exported as it is in NDJSON, page after page")
    func ndjson() async throws {
        let answer = await get("issuances:export")
        #expect(answer.status == 200 && answer.headers[.contentType] == "application/x-ndjson")
        #expect(answer.headers[.cacheControl] == "no-store")
        let lines = answer.text.split(separator: "\n", omittingEmptySubsequences: false)
        #expect(lines.count == 4 && lines.last == "")
        let keys = lines.dropLast().map { line in
            (try? JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])?["key"] as? String
        }
        #expect(keys == ["uploads/", "=cmd|'/c calc'!A1", "a \"b\", c"])
    }

    @Test("is exported as CSV in which no cell is a formula")
    func csv() async {
        let answer = await get("issuances:export?format=csv&alive=true")
        #expect(answer.headers[.contentType] == "text/csv; charset=utf-8; header=present")
        #expect(answer.headers[.contentDisposition] == "attachment; filename=\"issuances.csv\"")
        let lines = answer.text.components(separatedBy: "\r\n")
        #expect(lines.count == 5 && lines[0].hasPrefix("id,issuedAt,") && lines[4].isEmpty)
        let names = lines[0].split(separator: ",")
        #expect(lines[1].split(separator: ",", omittingEmptySubsequences: false).count == names.count)
        #expect(lines[2].contains(",'=cmd|'/c calc'!A1,"))
        #expect(lines[3].contains(#","a ""b"", c","#))
        #expect(!answer.text.contains(",="))
    }

    @Test("is cut off where a later page cannot be read")
    func cutOff() async {
        let error = GatewayError.unavailable(retryAfter: 1)
        #expect(await get("issuances:export?prefix=broken/").text.hasSuffix("[cut off: \(error)]"))
    }

    @Test(
        "takes no filter that it cannot read",
        arguments: [
            ("issuances?from=yesterday", "from"), ("issuances?to=2026-01-01", "to"),
            ("issuances?principal=alice", "principal"), ("issuances?bucket=A", "bucket"),
            ("issuances?action=CopyObject", "action"), ("issuances?delivery=email", "delivery"),
            ("issuances?grantID=1", "grantID"), ("issuances?credentialID=x", "credentialID"),
            ("issuances?alive=yes", "alive"),
            ("issuances?pageSize=0", "pageSize"), ("issuances?decision=refused", "decision"),
            ("issuances?bucket=photos&bucket=other", "bucket"), ("issuances:export?format=xls", "format"),
            ("issuances:export?pageSize=9", "pageSize"), ("usage?by=year", "by"), ("usage?groupBy=colour", "groupBy"),
            ("usage?groupBy=principal,", "groupBy"), ("usage?alive=true", "alive"),
            ("denials?principal=x", "principal"), ("denials?by=range", "by"), ("denials?groupBy=grant", "groupBy"),
            ("settling-backlog?by=hour", "by"),
            ("grants:unused?includeUsed=1", "includeUsed"), ("grants:unused?unusedSince=x", "unusedSince"),
        ])
    func badFilters(_ path: String, _ field: String) async {
        let answer = await get(path)
        #expect(answer.status == 400 && answer.string("field") == field, "\(path): \(answer.text)")
    }

    @Test("says by its code what is not there")
    func notFound() async {
        for (path, code) in [
            ("issuances/018f0000-0000-7000-8000-0000000000ff", "NoSuchIssuance"), ("issuances/x", "NoSuchIssuance"),
            ("grants/x/blast-radius", "NoSuchGrant"), ("storage-credentials/x/blast-radius", "NoSuchStorageCredential"),
        ] {
            let answer = await get(path)
            #expect(answer.status == 404 && answer.string("code") == code)
        }
        #expect(await get("issuances/\(StubPolicy.grantID)").string("key") == "uploads/")
    }

    /// Sending an answer also checks it against the contract.
    @Test("tells what is alive because of a grant or credential, and what use grants are of")
    func reports() async throws {
        let grant = await get("grants/\(StubPolicy.grantID)/blast-radius")
        #expect(grant.status == 200 && grant.number("count") == 1)
        let credential = await get("storage-credentials/\(StubPolicy.credentialID)/blast-radius")
        #expect(credential.status == 200 && credential.number("principalCount") == 1)
        let unused = await get("grants:unused?includeUsed=true")
        let items = try #require(unused.json["items"] as? [[String: Any]])
        #expect(items.map { $0["tightestPrefix"] as? String } == [nil, "uploads/"])
        let usage = await get("usage?by=day&groupBy=principal,action")
        #expect(await get("usage?groupBy=").status == 200)
        let count = try #require((usage.json["items"] as? [[String: Any]])?.first)
        #expect(count["principal"] as? String == "user:alice" && count["grantID"] == nil)
        #expect(count["actions"] as? [String] == ["PutObject", "GetObject"])
    }

    @Test("is closed to app users")
    func roles() async {
        for path in ["issuances", "issuances:export", "usage", "denials", "grants:unused"] {
            #expect(await TestGateway().send(.get, "/admin/v1/" + path, token: "user-token").status == 403)
        }
    }
}
