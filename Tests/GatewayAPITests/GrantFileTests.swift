import Foundation
import GatewayCore
import HTTPServing
import HTTPTypes
import Synchronization
import TestSupport
import Testing

@testable import GatewayAPI

@Suite("Grants as files")
struct GrantFileTests {
    private static let exportPath = "/admin/v1/grants:export"
    private static let csv = "text/csv; charset=utf-8; header=present"
    private static let importPath = "/admin/v1/grants:import"
    private static let json = #""principal":"user:bob","bucket":"photos","prefix":"a/","actions":["PutObject"]"#
    private static let header = "principal,bucket,kind,prefix,actions"

    private let gateway = TestGateway()
    private var store: MemoryGrantBulk { gateway.stores.grantBulk }
    private var lines: [ProposedGrant] { store.lines.withLock { $0 } }

    private func send(_ body: String, _ type: String = "application/x-ndjson", query: String = "") async -> TestAnswer {
        await gateway.send(
            .post, Self.importPath + query, token: "admin-token", headers: [.contentType: type], json: body)
    }

    /// Grants that use every member, with texts that are hard to encode.
    private static func grants() throws -> [Grant] {
        func grant(_ prefix: KeyPrefix, _ note: String, _ change: (inout Grant) -> Void = { _ in }) throws -> Grant {
            var grant = Grant(
                id: UUID(), principal: try Principal("user:=cmd|' /C calc'!A0, \"é\"\u{301}😀"),
                bucket: try BucketName("photos"), prefix: prefix, actions: [.putObject, .getObject], effect: .allow,
                note: note, createdBy: "user:root", createdAt: TestGateway.now)
            change(&grant)
            return grant
        }
        return [
            try grant(KeyPrefix(literal: ""), ""),
            try grant(KeyPrefix(literal: "-1+1, \"q\"; x=/"), "two\nlines,\tand \"quotes\"\"") {
                $0.conditions = GrantConditions(
                    contentTypes: ["image/*", "text/plain"], maxBytes: 1 << 40, requireContentMD5: true, maxTTL: 60,
                    sourceCIDRs: ["192.0.2.0/24", "2001:db8::/32"], forceDownload: true,
                    allowResponseContentType: true, allowVersions: true)
                $0.notBefore = Date(timeIntervalSince1970: 1_900_000_000.25)
                $0.notAfter = Date(timeIntervalSince1970: 2_000_000_000)
            },
            try grant(KeyPrefix(template: "u/${sub}/"), " blanks ") { $0.effect = .deny },
            try grant(KeyPrefix(literal: "one key"), "null") { $0.actions = [.getObject] },
            try grant(KeyPrefix(literal: "@SUM(1)"), ""),
        ]
    }

    @Test("an export comes back as it went, in both forms", arguments: RecordFormat.allCases)
    func roundTrip(format: RecordFormat) async throws {
        let grants = try Self.grants()
        store.grants.withLock { $0 = grants }
        let exported = await gateway.send(
            .get, Self.exportPath + "?format=\(format.rawValue)", token: "auditor-token")
        #expect(exported.status == 200)
        let answer = await send(exported.text, exported.headers[.contentType] ?? "")
        #expect(answer.status == 200, "\(answer.text)")
        #expect(lines.map(\.id) == grants.map(\.id))
        for (line, grant) in zip(lines, grants) {
            var read = line.grant
            read.keep(grant)
            #expect(read == grant)
        }
        #expect(lines.map(\.place) == (format == .csv ? [2, 3, 5, 6, 7] : [1, 2, 3, 4, 5]))
    }

    /// What generated texts consist of.
    private static let pieces = [
        "a", "Z", "0", " ", "  ", ",", ";", "\"", "\"\"", "'", "=", "+", "-", "@", "|", "\\n", "%2C", "null", "#", "&",
        "é", "e\u{301}", "\u{301}", "😀", "👩\u{200d}👧", "\u{feff}", "\u{2028}", "\u{200b}", "\u{fffd}", "{\"a\":[1]}",
    ]

    private static func text(
        _ count: ClosedRange<Int>, _ more: [String] = [], using random: inout SeededGenerator
    ) -> String {
        (0..<Int.random(in: count, using: &random)).compactMap { _ in (pieces + more).randomElement(using: &random) }
            .joined()
    }

    private static func conditions(
        for actions: Set<Action>, using random: inout SeededGenerator
    ) -> GrantConditions {
        var conditions = GrantConditions()
        if actions.contains(.putObject), random.once(in: 2) {
            conditions.contentTypes = random.once(in: 2) ? ["image/*", "text/plain"] : ["application/vnd.a+b-c.d"]
            conditions.maxBytes = Int64.random(in: 0...5_497_558_138_880, using: &random)
            conditions.requireContentMD5 = random.once(in: 2)
        }
        if actions.contains(.getObject), random.once(in: 2) {
            conditions.forceDownload = random.once(in: 2)
            conditions.allowResponseContentType = random.once(in: 2)
            conditions.allowVersions = random.once(in: 2)
        }
        if random.once(in: 2) { conditions.maxTTL = Int.random(in: 1...604_800, using: &random) }
        if random.once(in: 2) { conditions.sourceCIDRs = ["2001:DB8::/32", "192.0.2.0/24", "10.0.0.1"] }
        return conditions
    }

    private static func instant(_ year: Int, using random: inout SeededGenerator) throws -> Date {
        try Timestamp.instant(from: "\(year)-02-03T04:05:06.\(Int.random(in: 100...999, using: &random))Z")
    }

    /// A valid grant, in the form in which it is kept.
    private static func generated(using random: inout SeededGenerator) throws -> Grant {
        while true {
            let end = random.once(in: 2) ? "/" : ""
            let text = random.once(in: 8) ? "" : Self.text(1...4, ["/"], using: &random) + end
            let isTemplate = random.once(in: 4)
            guard let prefix = try? isTemplate ? KeyPrefix(template: "${sub}/" + text) : KeyPrefix(literal: text) else {
                continue
            }
            var grant = Grant(
                id: UUID(), principal: try Principal("user:" + Self.text(1...4, using: &random)),
                bucket: try BucketName("photos"), prefix: prefix,
                actions: Set(Action.allCases.filter { _ in random.once(in: 2) }), effect: .allow,
                note: Self.text(0...6, ["\n", "\t", "\n\n"], using: &random), createdBy: "user:root",
                createdAt: TestGateway.now)
            if random.once(in: 4) {
                grant.effect = .deny
            } else {
                grant.conditions = conditions(for: grant.actions, using: &random)
            }
            if random.once(in: 3) { grant.notBefore = try instant(2030, using: &random) }
            if random.once(in: 3) { grant.notAfter = try instant(2040, using: &random) }
            if let valid = try? grant.validated() { return valid }
        }
    }

    @Test("whatever a grant says, an import reads what an export of it says", arguments: RecordFormat.allCases)
    func generatedRoundTrip(format: RecordFormat) async throws {
        var random = SeededGenerator(seed: 19)
        var grants: [Grant] = []
        for _ in 0..<500 { grants.append(try Self.generated(using: &random)) }
        // Nothing that a grant can say is left out.
        for (index, name) in Grant.columns.enumerated() {
            #expect(grants.contains { !$0.cells[index].isEmpty }, "\(name)")
        }
        let conditions = Mirror(reflecting: GrantConditions()).children.compactMap { $0.label }
        #expect(!conditions.isEmpty && Set(conditions).isSubset(of: Grant.columns))
        store.grants.withLock { $0 = grants }
        let exported = await gateway.send(
            .get, Self.exportPath + "?format=\(format.rawValue)", token: "auditor-token")
        let answer = await send(exported.text, exported.headers[.contentType] ?? "")
        #expect(exported.status == 200 && answer.status == 200, "\(answer.text)")
        #expect(lines.count == grants.count)
        for (line, grant) in zip(lines, grants) {
            var read = line.grant
            read.keep(grant)
            // Texts that Swift takes for equal may differ.
            #expect(line.id == grant.id && read == grant && Array(read.note.utf8) == Array(grant.note.utf8))
        }
    }

    @Test(
        "the form of an export is that asked for", arguments: ["grants", "issuances"],
        [
            ("", "", "application/x-ndjson"), ("", "text/csv", Self.csv),
            ("", "text/html, text/csv;q=0.9, */*", Self.csv),
            ("", "application/x-ndjson, text/csv", "application/x-ndjson"),
            ("?format=csv", "application/x-ndjson", Self.csv),
            ("?format=ndjson", "text/csv", "application/x-ndjson"),
        ])
    func forms(rows: String, _ asked: (query: String, accept: String, type: String)) async {
        let answer = await gateway.send(
            .get, "/admin/v1/\(rows):export" + asked.query, token: "auditor-token",
            headers: asked.accept.isEmpty ? [:] : [.accept: asked.accept])
        #expect(answer.headers[.contentType] == asked.type)
        let name = rows + (asked.type == Self.csv ? ".csv" : ".ndjson")
        #expect(answer.headers[.contentDisposition] == "attachment; filename=\"\(name)\"")
        #expect(answer.headers[.cacheControl] == "no-store")
    }

    @Test("an export takes the filters of the list, and tells refusals by the status")
    func exportRefusals() async {
        let answer = await gateway.send(
            .get, Self.exportPath + "?bucket=photos&action=s3:GetObject", token: "auditor-token")
        #expect(answer.status == 200)
        #expect(store.filters.withLock { $0 } == [["bucket": "photos", "action": "GetObject"]])
        for query in ["?format=xml", "?color=red", "?format=csv&format=csv", "?pageSize=3", "?effect=none"] {
            #expect(await gateway.send(.get, Self.exportPath + query, token: "auditor-token").status == 400)
        }
        store.failure.withLock { $0 = .slowDown(retryAfter: 5) }
        #expect(await gateway.send(.get, Self.exportPath, token: "auditor-token").status == 503)
    }

    @Test("options of an import reach the store")
    func options() async throws {
        let answer = await send(
            "{\(Self.json)}\n", query: "?dryRun=true&prune=true&bucket=photos&principal=user:bob&prefix=a/&samples=0")
        #expect(answer.status == 200, "\(answer.text)")
        let options = try #require(store.options.withLock { $0 }.first)
        #expect(options.isDryRun && options.prunes && options.sampleLimit == 0)
        #expect(options.scope.bucket?.rawValue == "photos" && options.scope.principal?.rawValue == "user:bob")
        #expect(options.scope.prefix?.rawValue == "a/")
        #expect(answer.json["dryRun"] as? Bool == true && (answer.json["samples"] as? [Any])?.isEmpty == true)
        for query in ["?dryRun=yes", "?prune=1", "?samples=101", "?bucket=X", "?format=csv", "?effect=allow"] {
            #expect(await send("", query: query).status == 400, "\(query)")
        }
    }

    @Test(
        "a line outside of the scope is refused",
        arguments: [("bucket=other-one", "bucket"), ("principal=group:bob", "principal"), ("prefix=a", "prefix")])
    func outside(query: String, field: String) async {
        let answer = await send("{\(Self.json)}\n", query: "?" + query)
        #expect(answer.status == 400 && answer.string("field") == field && answer.number("line") == 1)
    }

    @Test(
        "a line of JSON that cannot be taken is named",
        arguments: [
            ("{\(json)}\n\n{}\n", 3, "principal"), ("{\(json)}\nnot json", 2, "line"),
            ("{\(json), \"color\": 1}", 1, "color"), ("[]", 1, "body"), ("{\(json), \"note\": \"\\u0000\"}", 1, "line"),
            ("{\(json), \"note\": \"a\u{0}b\"}", 1, "line"), ("{\(json), \"id\": \"7\"}", 1, "id"),
            ("{\(json)} {\(json)}", 1, "line"),
            ("{\(json), \"conditions\": {\"maxBytes\": -1}}", 1, "conditions.maxBytes"),
            ("{\(json)}\n" + String(repeating: "x", count: 70_000), 2, "line"),
            ("{\(json), \"note\": \"\(String(repeating: "x", count: 1001))\"}", 1, "note"),
        ])
    func badLines(body: String, line: Int, field: String) async {
        let answer = await send(body)
        #expect(answer.status == 400 && answer.string("code") == "InvalidArgument", "\(answer.text)")
        #expect(answer.number("line") == line && answer.string("field") == field, "\(answer.text)")
        #expect((answer.json["errors"] as? [[String: Any]])?.first?["line"] as? Int == line)
    }

    @Test(
        "a record of CSV that cannot be taken is named by the line that it begins on",
        arguments: [
            ("", 1, "line"), ("principal,bucket,kind\n", 1, "actions"), (header + ",color\n", 1, "color"),
            (header + ",note,note\n", 1, "note"), (header + "\nuser:b,photos,prefix,a/\n", 2, "line"),
            (header + "\nuser:b,photos,prefix,a/,PutObject,\n", 2, "line"),
            (header + "\n\"user:b\"x,photos,prefix,a/,PutObject\n", 2, "line"),
            (header + "\nuser:\"b,photos,prefix,a/,PutObject\n", 2, "line"),
            (header + "\nuser:b,photos,prefix,\"a/,PutObject\n", 2, "line"),
            (header + "\nuser:b,photos,prefix,a/\r,PutObject\n", 2, "line"),
            (header + "\nuser:b,photos,prefix,,PutObject\n", 2, "prefix"),
            (header + "\nuser:b,photos,bucket,a/,PutObject\n", 2, "prefix"),
            (header + "\nuser:b,photos,,,PutObject\n", 2, "kind"),
            (header + "\nuser:b,photos,template,a/,PutObject\n", 2, "template"),
            (header + "\nuser:b,photos,prefix,a/,\n", 2, "actions"),
            (header + "\n\"user:b\",photos,prefix,\"a\nb\",PutObject\n", 2, "prefix"),
            (header + "\nuser:b,photos,prefix,a/,PutObject\nuser:b,photos,prefix,a\u{0}/,PutObject\n", 3, "prefix"),
            ("id," + header + "\n", 1, "effect"),
            (header + ",effect\nuser:b,photos,prefix,a/,PutObject,\n", 2, "effect"),
            (header + ",effect\nuser:b,photos,prefix,a/,PutObject,none\n", 2, "effect"),
            (header + ",maxBytes\nuser:b,photos,prefix,a/,PutObject,many\n", 2, "conditions.maxBytes"),
            (header + ",forceDownload\nuser:b,photos,prefix,a/,GetObject,1\n", 2, "forceDownload"),
            (
                header + ",note\nuser:b,photos,prefix,a/,PutObject,\"" + String(repeating: "\n", count: 70_000), 2,
                "line"
            ),
        ])
    func badRecords(body: String, line: Int, field: String) async {
        let answer = await send(body, "text/csv")
        #expect(answer.status == 400 && answer.string("code") == "InvalidArgument", "\(answer.text)")
        #expect(answer.number("line") == line && answer.string("field") == field, "\(answer.text)")
    }

    @Test("bytes that are not UTF-8 are refused", arguments: ["application/x-ndjson", "text/csv"])
    func invalidUTF8(type: String) async {
        let text = type == "text/csv" ? Self.header + "\nuser:b,photos,prefix,a?,PutObject\n" : #"{"principal":"?"}"#
        let bytes = text.utf8.map { $0 == UInt8(ascii: "?") ? 0xff : $0 }
        let answer = await stream([Result.success(bytes)], type)
        #expect(answer.status == 400 && answer.string("field") == "line", "\(answer.text)")
    }

    @Test("CSV is read however it is cut, with and without mark, CR, quotes and end")
    func csvForms() async throws {
        let body =
            "\u{feff}\"note\",actions,prefix,kind,bucket,principal,forceDownload\r\n\r\n\"a \"\"b\"\"\r\n, c\","
            + "GetObject PutObject,a/,prefix,photos,user:b,TRUE\n\n,\"GetObject\",,bucket,photos,\"group:x\","
        for size in [1, 2, 3, 7, 1000] {
            let gateway = TestGateway()
            let bytes = Array(body.utf8)
            let pieces = stride(from: 0, to: bytes.count, by: size).map {
                Result<[UInt8], RequestBodyError>.success(Array(bytes[$0..<min($0 + size, bytes.count)]))
            }
            let answer = await stream(pieces, "text/csv; charset=utf-8", gateway)
            #expect(answer.status == 200, "\(answer.text)")
            let lines = gateway.stores.grantBulk.lines.withLock { $0 }
            #expect(lines.map(\.grant.note) == ["a \"b\"\n, c", ""])
            #expect(lines.map(\.place) == [3, 6] && lines[0].grant.conditions.forceDownload == true)
            #expect(lines[1].grant.prefix == .literal(ExactText("")) && lines[1].grant.principal.isGroup)
        }
    }

    @Test("a file of new grants may leave out the effect, and an identifier may be empty")
    func effects() async throws {
        let answer = await send(Self.header + "\nuser:b,photos,prefix,a/,PutObject\n", "text/csv")
        #expect(answer.status == 200 && lines.map(\.grant.effect) == [.allow], "\(answer.text)")
        store.lines.withLock { $0 = [] }
        let denied = await send(
            "id,\(Self.header),\(Self.rule.joined(separator: ","))\n,user:b,photos,prefix,a/,PutObject,deny,,,,,,,,,,\n",
            "text/csv")
        #expect(denied.status == 200 && lines.map(\.grant.effect) == [.deny], "\(denied.text)")
        #expect(lines.map(\.id) == [nil])
    }

    @Test("in a file without the column 'kind', the text tells a prefix from a template")
    func withoutKind() async throws {
        let file = """
            principal,bucket,prefix,actions
            user:b,photos,a/,PutObject
            *,photos,u/${sub}/,GetObject
            user:b,photos,$x,GetObject
            """
        let answer = await send(file, "text/csv")
        #expect(answer.status == 200, "\(answer.text)")
        let expected = [
            try KeyPrefix(literal: "a/"), try KeyPrefix(template: "u/${sub}/"), try KeyPrefix(literal: "$x"),
        ]
        #expect(lines.map(\.grant.prefix) == expected)
    }

    @Test(
        "a file without the column 'kind' opens no whole bucket",
        arguments: [
            ("principal,bucket,actions\n", 1, "prefix"), ("principal,bucket,prefix\n", 1, "actions"),
            ("principal,bucket,prefix,actions\nuser:b,photos,,PutObject\n", 2, "prefix"),
            ("principal,bucket,prefix,actions\nuser:b,photos,u/${me}/,PutObject\n", 2, "template"),
        ])
    func withoutKindOrPrefix(body: String, line: Int, field: String) async {
        let answer = await send(body, "text/csv")
        #expect(answer.status == 400 && answer.string("code") == "InvalidArgument", "\(answer.text)")
        #expect(answer.number("line") == line && answer.string("field") == field, "\(answer.text)")
        #expect(lines.isEmpty)
    }

    private static let rule = [
        "effect", "contentTypes", "maxBytes", "requireContentMD5", "maxTTL", "sourceCIDRs", "forceDownload",
        "allowResponseContentType", "allowVersions", "notBefore", "notAfter",
    ]

    @Test("where lines name grants, no column that says what they allow may be missing", arguments: rule)
    func missingColumns(name: String) async {
        let columns = Self.rule.filter { $0 != name }.joined(separator: ",")
        let answer = await send("id,\(Self.header),\(columns)\n", "text/csv")
        #expect(answer.status == 400 && answer.string("field") == name, "\(answer.text)")
    }

    @Test("a line of JSON that names a grant says what the grant allows", arguments: ["effect", "conditions"])
    func missingMembers(name: String) async {
        let members = ["effect": #""effect": "deny""#, "conditions": #""conditions": {}"#]
        let rest = members.filter { $0.key != name }.values.joined()
        let id = #""id": "0198c5a1-0000-7000-8000-000000000000""#
        let answer = await send("{\(Self.json), \(id), \(rest)}\n", "application/x-ndjson")
        #expect(answer.status == 400 && answer.string("field") == name, "\(answer.text)")
        let all = members.values.joined(separator: ", ")
        let whole = await send("{\(Self.json), \(id), \(all)}\n", "application/x-ndjson")
        #expect(whole.status == 200 && lines.map(\.grant.effect) == [.deny], "\(whole.text)")
    }

    @Test("lines of JSON are read however they are cut")
    func ndjsonForms() async throws {
        let body = Array("\u{feff}{\(Self.json)}\r\n  \r\n{\(Self.json), \"note\": \"é\"}".utf8)
        for size in [1, 5, 1000] {
            let gateway = TestGateway()
            let pieces = stride(from: 0, to: body.count, by: size).map {
                Result<[UInt8], RequestBodyError>.success(Array(body[$0..<min($0 + size, body.count)]))
            }
            #expect(await stream(pieces, "application/jsonl", gateway).status == 200)
            let lines = gateway.stores.grantBulk.lines.withLock { $0 }
            #expect(lines.map(\.place) == [1, 3] && lines.map(\.grant.note) == ["", "é"])
        }
    }

    @Test(
        "a body that breaks off changes nothing, and the answer says why",
        arguments: [(RequestBodyError.disconnected, 400), (.timedOut, 408), (.tooLarge, 413)])
    func brokenBody(error: RequestBodyError, status: Int) async {
        let answer = await stream([.success(Array("{\(Self.json)}\n".utf8)), .failure(error)], "application/x-ndjson")
        #expect(answer.status == status)
        #expect(lines.isEmpty)
    }

    @Test("an empty file deletes nothing", arguments: ["application/x-ndjson", "text/csv"])
    func emptyFile(type: String) async {
        let body = type == "text/csv" ? Self.header : "\n"
        let answer = await send(body, type, query: "?prune=true")
        #expect(answer.status == 400 && answer.string("field") == "prune")
        #expect(await send(body, type).status == 200)
    }

    @Test("other forms and compressed bodies are not taken")
    func otherForms() async {
        for type in ["application/json", "text/plain", ""] {
            let answer = await send("", type)
            #expect(answer.status == 415 && answer.string("detail")?.contains("x-ndjson") == true)
        }
        for (coding, status) in [("gzip", 415), ("br", 415), ("identity", 200)] {
            let answer = await gateway.send(
                .post, Self.importPath, token: "admin-token",
                headers: [.contentType: "text/csv", .contentEncoding: coding], json: Self.header)
            #expect(answer.status == status)
        }
    }

    @Test("samples show what was and what shall be")
    func samples() async throws {
        store.grants.withLock { $0 = (try? Self.grants()) ?? [] }
        let answer = await send("{\(Self.json)}\n")
        let samples = try #require(answer.json["samples"] as? [[String: Any]])
        #expect(samples.compactMap { $0["result"] as? String } == ["created", "deleted"])
        #expect(samples[0]["line"] as? Int == 1 && samples[0]["before"] == nil)
        #expect((samples[0]["after"] as? [String: Any])?["id"] == nil)
        #expect((samples[1]["before"] as? [String: Any])?["createdBy"] as? String == "user:root")
    }

    @Test("the body of an import streams, with time for it; that of a batch is gathered")
    func plans() {
        func plan(_ method: HTTPRequest.Method, _ path: String) -> BodyPlan {
            gateway.responder.begin(RequestHead(method: method, target: path)).body
        }
        #expect(
            plan(.post, Self.importPath + "?prune=true")
                == .stream(maxBytes: 2_147_483_648, answerDeadline: .seconds(1800)))
        #expect(plan(.get, Self.exportPath) == .stream(maxBytes: 0, answerDeadline: .seconds(120)))
        #expect(plan(.post, "/admin/v1/grants:apply") == .collect(maxBytes: 16_777_216))
    }

    @Test(
        "operations whose statement may take 30 seconds have time for it",
        arguments: [
            "quotas/00000000-0000-0000-0000-000000000001:reset", "principals/user:alice:offboard",
        ])
    func longPlans(path: String) {
        let head = RequestHead(method: .post, target: "/admin/v1/" + path)
        #expect(gateway.responder.begin(head).body == .collect(maxBytes: 65_536, answerDeadline: .seconds(40)))
    }

    /// Sends an import whose body arrives in pieces.
    private func stream(
        _ pieces: [Result<[UInt8], RequestBodyError>], _ type: String, _ gateway: TestGateway? = nil
    ) async -> TestAnswer {
        let rest = Mutex(pieces[...])
        let body = RequestBodyStream { try rest.withLock { $0.popFirst() }?.get() }
        let head = RequestHead(
            method: .post, target: Self.importPath,
            headerFields: [.contentType: type, .authorization: "Bearer admin-token"])
        let responder = (gateway ?? self.gateway).responder
        return await TestAnswer(collecting: responder.respond(to: ServerRequest(head: head, body: .stream(body))))
    }
}
