import ContractModel
import StrictJSON
import Terminal
import Testing

@testable import AdminCommands
@testable import GatewayTransport
@testable import LibCurl

/// The commands that are derived from the contract.
@Suite struct AdminCommandTests {
    private let model: ContractModel
    private let commands: [AdminOperation]

    init() throws {
        model = try ContractModel.embedded()
        commands = AdminOperation.all(of: model)
    }

    private static let pipe = TerminalStream(isTerminal: false, columns: nil, environment: [:])

    private func command(_ words: String) throws -> AdminOperation {
        try #require(commands.first { $0.words.joined(separator: " ") == words }, "\(words)")
    }

    private func read(_ words: String, _ arguments: [String]) throws -> AdminInvocation {
        try AdminInvocation(arguments, of: try command(words), model) { _ throws(AdminFailure) in "from a file" }
    }

    @Test func `every operation for admins is a command, each with words of its own`() {
        let operations = model.operations.filter { $0.path.hasPrefix("/admin/v1/") }
        #expect(commands.count == operations.count && commands.count > 40)
        #expect(Set(commands.map(\.words)).count == commands.count)
        let known = Set(commands.map { $0.words.joined(separator: " ") })
        for words in [
            "buckets list", "buckets create", "buckets get", "buckets replace", "buckets update", "buckets delete",
            "credentials list", "grants unused", "groups members create", "quotas list", "issuers get",
            "api-keys delete", "tickets delete", "multipart-uploads list", "uploads list", "uploads confirm",
            "simulate", "issuances export", "usage", "denials",
        ] { #expect(known.contains(words), "\(words)") }
    }

    @Test func `what a path begins with is never a whole command`() {
        // `grants list` could not be told from `grants` with the argument `list`.
        for command in commands where command.path.isEmpty == false {
            #expect(!commands.contains { $0.words.count > command.words.count && $0.words.starts(with: command.words) })
        }
    }

    @Test func `the example in the help of each command is the contract's example`() throws {
        var count = 0
        for command in commands {
            let help = AdminHelp(model: model, Self.pipe).text(on: command)
            #expect(help.contains(command.operation.summary))
            guard let example = command.json?.examples.first?.value else { continue }
            let line = try #require(help.split(separator: "\n").last { $0.hasPrefix("  sluice admin ") })
            let words = try Self.shellWords(String(line.dropFirst("  sluice admin ".count)))
            let arguments = Array(words.dropFirst(command.words.count))
            let invocation = try AdminInvocation(arguments, of: command, model) { _ throws(AdminFailure) in "" }
            #expect(Self.sorted(invocation.body) == Self.sorted(example), "\(line)")
            count += 1
        }
        #expect(count > 15)
    }

    @Test func `options become members of the types that the contract gives them`() throws {
        let grant = try read(
            "grants create",
            [
                "--principal", "user:alice", "--bucket=b", "--prefix=", "--actions", "PutObject,GetObject",
                "--conditions.max-bytes", "10", "--conditions.require-content-md5",
                "--conditions.sourceCIDRs=10.0.0.0/8",
                "--conditions.force-download=false", "--note", "@file", "--note", "@@home",
            ])
        #expect(
            grant.body.json()
                == #"{"principal":"user:alice","bucket":"b","prefix":"","actions":["PutObject","GetObject"],"#
                + #""conditions":{"maxBytes":10,"requireContentMD5":true,"sourceCIDRs":["10.0.0.0/8"],"forceDownload":false},"#
                + #""note":"@home"}"#)
        #expect(try read("grants update", ["some-id", "--note", "@file"]).body["note"] == .string("from a file"))
        let patch = try read("grants update", ["some-id", "--unset", "conditions,not-after", "--effect", "deny"])
        #expect(patch.path == ["some-id"])
        #expect(patch.body.json() == #"{"conditions":null,"notAfter":null,"effect":"deny"}"#)
        let list = try read("issuances list", ["--principal", "user:a b", "--alive", "--limit", "3", "--json"])
        #expect(list.query.map(\.name) == ["principal", "alive"] && list.query.map(\.value) == ["user:a b", "true"])
        #expect(list.limit == 3 && list.isJSON)
        // Only a member of a body is read from a file.
        let filtered = try read("grants list", ["--prefix", "@x/", "--principal=@@y"])
        #expect(filtered.query.map(\.value) == ["@x/", "@@y"])
        // `limit` is a list's page size everywhere except in a quota.
        #expect(
            try read(
                "quotas create", ["--limit", "7", "--principal", "*", "--metric", "urls", "--period", "day"]
            ).body["limit"] == .integer(7))
    }

    @Test(arguments: [
        ("quotas list", "near-limit", ["0.8", "1", "1.0", "8e-1", "-2"], ["0x1p-1", "nan", "inf", "1e999", ".8", ""]),
        ("grants import", "samples", ["0", "10"], ["0.5", "1e1", "many", " 1", ""]),
    ])
    func `a parameter takes the numbers that the contract gives it`(
        words: String, option: String, right: [String], wrong: [String]
    ) throws {
        for value in right {
            #expect(try read(words, ["--\(option)=\(value)"]).query.map(\.value) == [value], "\(value)")
        }
        for value in wrong {
            let failure = #expect(throws: AdminFailure.self) { try read(words, ["--\(option)", value]) }
            #expect(failure?.message(on: nil).contains("'--\(option)' takes a ") == true, "\(value)")
            #expect(failure?.exitCode == 64)
        }
    }

    @Test(arguments: [
        ("maxTTL", "max-ttl"), ("credentialID", "credential-id"), ("requireContentMD5", "require-content-md5"),
        ("sourceCIDRs", "source-cidrs"), ("checksumSHA256", "checksum-sha256"), ("bucket", "bucket"),
        ("roleARN", "role-arn"), ("Idempotency-Key", "idempotency-key"),
        ("conditions.maxBytes", "conditions.max-bytes"),
    ])
    func `options are written as options are`(name: String, option: String) {
        #expect(AdminNames.option(name) == option)
        #expect(AdminNames.key(option) == AdminNames.key(name))
    }

    @Test func `a table shows what rows have, and nothing that a terminal would obey`() {
        let rows: [ContractValue] = [
            .object([.init("id", .string("1")), .init("note", .string("a\u{1B}[2Jb\n\u{202E}c"))]),
            .object([.init("id", .string("long-id")), .init("actions", .array([.string("x"), .string("y")]))]),
        ]
        let table = TextTable.rows(
            rows, of: "things", chosen: nil, known: ["id", "actions", "note", "never"], on: Self.pipe)
        #expect(
            table == """
                ID       ACTIONS  NOTE
                1        -        a\\u{1b}[2Jb\\u{a}\\u{202e}c
                long-id  x,y      -

                """)
        let terminal = TerminalStream(isTerminal: true, columns: 40, environment: ["NO_COLOR": "1"])
        #expect(TextTable.rows(rows, of: "", chosen: ["note"], known: [], on: terminal).hasPrefix("NOTE\n"))
        let nested = ContractValue.object([
            .init("sub", .object([.init("a", .integer(1))])), .init("name", .string("n")),
            .init("list", .array([.object([.init("b", .bool(true))])])),
        ])
        let shape = AnswerShape(.object([.init("properties", .object([.init("name", .null)]))]), model)
        #expect(
            TextTable.members(of: nested, by: shape, on: nil) == """
                name  n
                sub:
                  a  1
                list:
                  B
                  true

                """)
    }

    @Test func `a refusal names code, detail, members and the request, and each kind has its exit status`() throws {
        let problem = try ContractValue(
            json: Array(
                #"{"status":409,"code":"Conflict","detail":"In use.\u001b[0m","field":"x","requestID":"r-1"}"#.utf8))
        let failure = AdminFailure.refused(status: 409, problem: problem)
        let message = failure.message(on: nil)
        #expect(message == "error: Conflict (409): In use.\\u{1b}[0m\n  field: x\n  request id: r-1")
        #expect(failure.naming(["x"]).message(on: nil) == message.replacing("field: x", with: "option: --x"))
        #expect(failure.naming(["y"]).message(on: nil) == message && failure.naming(["x"]).document == problem)
        let codes =
            [400: 2, 401: 3, 403: 3, 404: 4, 409: 5, 412: 5, 428: 5, 422: 2, 429: 6, 500: 6, 503: 6] as [Int: Int32]
        for (status, code) in codes { #expect(AdminFailure.refused(status: status, problem: .null).exitCode == code) }
    }

    @Test func `a refusal of a member names the line of the file from which it comes, or the option that sets it`()
        throws
    {
        let text = try JSONText(
            reading: Array("{\"limit\": 1,\n\"conditions\": {\n\"sourceCIDRs\": [\"10.0.0.0/8\",\n\"x\"]}}".utf8))
        let file = AdminJSONFile(name: "body.json", text: text)
        func told(_ field: String, _ arguments: [String] = []) throws -> String {
            let invocation = try read("grants update", ["some-id", "--file", "body.json"] + arguments)
            let problem = ContractValue.object([.init("code", .string("C")), .init("field", .string(field))])
            return AdminFailure.refused(status: 400, problem: problem)
                .located { invocation.setsMember($0) ? nil : file.place(of: $0) }
                .naming([AdminNames.option(field)]).message(on: nil)
        }
        #expect(try told("limit") == "error: C (400): \n  field: limit\n  file: body.json, line 1")
        let third = "conditions.sourceCIDRs[1]"
        #expect(try told(third) == "error: C (400): \n  field: \(third)\n  file: body.json, line 4")
        #expect(try !told(third, ["--conditions.sourceCIDRs", "x"]).contains("file:"))
        #expect(try told("conditions.maxTTL") == "error: C (400): \n  option: --conditions.max-ttl")
        #expect(AdminJSONFile(name: "-", text: text).place(of: "limit") == "standard input, line 1")
    }

    @Test func `a refusal that is not a gateway's has a code, and tells where its URL comes from`() throws {
        let access = try AdminAccess(url: "http://127.0.0.1:1/", environment: ["SLUICE_ADMIN_KEY": "k"])
        let client = try AdminClient(access, role: "admin", timeout: 1)
        let head = StreamedTransfer.Head(status: 502, fields: [])
        for body in ["<html>", "{}", ""] {
            let failure = #expect(throws: AdminFailure.self) {
                try client.check(RemoteGateway.Answer(head: head, body: Array(body.utf8)))
            }
            let document = failure?.document
            #expect(document?["code"]?.text == "UnknownAnswer" && document?["status"]?.integer == 502)
            #expect(document?["detail"]?.text?.hasPrefix("http://127.0.0.1:1 does not answer as a gateway") == true)
            #expect(failure?.exitCode == 6 && failure?.message(on: nil).contains("'--url' sets this URL.") == true)
        }
    }

    @Test func `every option has a text, and a name of its own`() {
        for command in commands {
            let options = command.options(model)
            let own = AdminHelp(model: model, Self.pipe).ownOptions(of: command)
            for option in options { #expect(!option.text.isEmpty, "\(command.words) --\(option.name)") }
            for (name, text) in own { #expect(text.count > 3, "\(command.words) \(name)") }
            #expect(Set(options.map(\.name)).count == options.count, "\(command.words)")
        }
    }

    @Test func `options may be before, between and after the words`() throws {
        let lines = [
            "--json --bucket b grants list --limit 3", "grants --bucket b --json list --limit 3",
            "--limit 3 grants list --json --bucket b", "grants list --bucket=b --limit=3 --json",
        ]
        for line in lines {
            let read = AdminLine(line.split(separator: " ").map(String.init), among: commands, model)
            #expect(read.words == ["grants", "list"] && read.unknown == nil, "\(line)")
            let command = try #require(read.command)
            let invocation = try AdminInvocation(read.rest, of: command, model) { _ throws(AdminFailure) in "" }
            #expect(invocation.isJSON && invocation.limit == 3 && invocation.query.map(\.value) == ["b"], "\(line)")
        }
        let group = AdminLine(["--print", "id", "groups", "members", "get", "g", "m"], among: commands, model)
        #expect(group.arguments == ["g", "m"] && group.command?.words == ["groups", "members", "get"])
        #expect(AdminLine(["grants", "list", "--bucket"], among: commands, model).pending?.name == "bucket")
    }

    @Test func `a file that is named as an export's holds one, or what the line says`() throws {
        for name in ["rows.csv", "rows.ndjson", "rows.JSONL"] {
            let failure = #expect(throws: AdminFailure.self) { try read("grants list", ["--output", name]) }
            #expect(failure?.message(on: nil).contains("'export'") == true && failure?.exitCode == 64)
            #expect(throws: AdminFailure.self) { try read("grants get", ["id", "--output", name]) }
            #expect(try read("grants export", ["--output", name]).output == name)
            #expect(try read("grants list", ["--output", name, "--json"]).isJSON)
            #expect(try read("grants list", ["--output", name, "--print", "id"]).output == name)
        }
        #expect(try read("grants list", ["--output", "rows.txt"]).output == "rows.txt")
    }

    /// The gateway answers an import at its end, which may be half an hour away.
    @Test func `a command waits for as long as its operation may take`() throws {
        let waits = try ["grants import", "grants export", "issuances export", "grants list"].map {
            try command($0).patience
        }
        #expect(waits == [1900, 150, 150, 60])
        #expect(try read("grants import", []).timeout == nil)
        #expect(try read("grants import", ["--timeout", "5"]).timeout == 5)
    }

    /// Only the members that options name change, however deep they lie.
    @Test func `options change a body that was read from a file`() throws {
        let file = try ContractValue(
            json: Array(
                """
                {"note": "a", "conditions": {"sourceCIDRs": ["10.0.0.0/8"], "contentTypes": ["image/*"], "maxBytes": 5}}
                """.utf8))
        let arguments = ["--file", "grant.json", "--conditions.max-ttl", "60", "--note", "b"]
        let created = try read("grants create", arguments).changed(file)
        let expected = try ContractValue(
            json: Array(
                """
                {"note": "b", "conditions": {"sourceCIDRs": ["10.0.0.0/8"], "contentTypes": ["image/*"],
                "maxBytes": 5, "maxTTL": 60}}
                """.utf8))
        #expect(Self.sorted(created) == Self.sorted(expected))
        let whole = try read("grants create", ["--file", "f", "--conditions", #"{"maxTTL":60}"#]).changed(file)
        #expect(whole["conditions"]?.members.map(\.name) == ["maxTTL"])
        let patch = try read("grants update", ["id", "--file", "f", "--unset", "conditions.max-bytes"]).changed(file)
        #expect(patch["conditions"]?["maxBytes"] == .null && patch["conditions"]?.members.count == 3)
    }

    @Test func `members of members are unset, and what is printed may be one of them`() throws {
        let patch = try read(
            "grants update", ["id", "--unset", "conditions.max-bytes,note", "--conditions.max-ttl", "5"])
        #expect(patch.body.json() == #"{"conditions":{"maxBytes":null,"maxTTL":5},"note":null}"#)
        let list = try read("grants list", ["--print", "id,conditions.max-bytes"])
        #expect(list.printed == [["id"], ["conditions", "maxBytes"]])
    }

    @Test func `a table fits the terminal, and its identifiers stay whole`() {
        let id = "0198c5a1-7a3b-7c11-9f6e-3f1d2c4b5a69"
        let rows: [ContractValue] = [
            .object([
                .init("id", .string(id)), .init("note", .string(String(repeating: "注", count: 40))),
                .init("prefix", .string("p/")),
            ])
        ]
        for columns in [60, 80, 300] {
            let stream = TerminalStream(isTerminal: true, columns: columns, environment: ["TERM": "dumb"])
            let table = TextTable.rows(rows, of: "", chosen: ["id", "note", "prefix"], known: [], on: stream)
            #expect(
                table.contains(id) && table.split(separator: "\n").allSatisfy { String($0).terminalWidth <= columns })
            #expect(table.contains("…") == (columns < 120))
        }
        let coloured = TerminalStream(isTerminal: true, columns: 300, environment: [:])
        #expect(
            TextTable.rows(rows, of: "", chosen: ["id"], known: [], on: coloured).hasPrefix("\u{1B}[1mID\u{1B}[0m\n"))
        #expect(TextTable.rows(rows, of: "", chosen: ["id"], known: [], on: Self.pipe).hasPrefix("ID\n"))
        #expect(TerminalStream(isTerminal: true, columns: 90, environment: ["COLUMNS": "70"]).width == 70)
        #expect(TerminalStream(isTerminal: false, columns: 90, environment: [:]).width == nil)
    }

    @Test func `a table that cannot fit is printed as lines, and rows in rows by their identifiers`() {
        let grant = ContractValue.object([.init("id", .string("g-1")), .init("effect", .string("allow"))])
        let verdict = ContractValue.object([
            .init("action", .string("GetObject")), .init("outcome", .string("allowed")), .init("decidedBy", grant),
        ])
        let row = ContractValue.object([
            .init("principal", .string("user:" + String(repeating: "a", count: 20))),
            .init("verdicts", .array([verdict, verdict])), .init("grant", grant),
            .init("conditions", .object([.init("maxTTL", .integer(5)), .init("maxBytes", .integer(6))])),
        ])
        let known = ["principal", "verdicts", "grant", "conditions"]
        let narrow = TerminalStream(isTerminal: true, columns: 30, environment: ["TERM": "dumb"])
        #expect(
            TextTable.rows([row, row], of: "", chosen: nil, known: known, on: narrow, indent: " ")
                == """
                 principal   user:aaaaaaaaaaaaaaaaaaaa
                 verdicts    GetObject allowed, GetObject allowed
                 grant       g-1
                 conditions  maxTTL=5 maxBytes=6
                 --
                 principal   user:aaaaaaaaaaaaaaaaaaaa
                 verdicts    GetObject allowed, GetObject allowed
                 grant       g-1
                 conditions  maxTTL=5 maxBytes=6

                """)
        let piped = TextTable.rows([row], of: "", chosen: ["grant", "conditions"], known: known, on: Self.pipe)
        #expect(piped == "GRANT  CONDITIONS\ng-1    maxTTL=5 maxBytes=6\n")
    }

    /// The runbook sends its readers here for the position.
    @Test func `the table of gateways has the position of each in the log of policy`() throws {
        func gateway(_ version: String, position: Int?) -> ContractValue {
            let id = ContractValue.string("0198c5a1-7a3b-7c11-9f6e-3f1d2c4b5a69")
            let place = position.map { ContractValue.object([.init("sequence", .integer($0)), .init("tag", id)]) }
            return .object([
                .init("id", id), .init("version", .string(version)),
                .init("startedAt", .string("2030-03-17T17:46:40Z")),
                .init("lastSeenAt", .string("2030-03-17T18:01:40Z")), .init("live", .bool(true)),
                .init("policyPosition", place ?? .null),
                .init("clockAheadMilliseconds", .integer(3)), .init("masterKeyIDs", .array([.string("2030-01")])),
            ])
        }
        let rows = [gateway("1.0.0", position: 1_234_567), gateway("1.0.1", position: nil)]
        for columns in [nil, 120, 160] as [Int?] {
            let stream = TerminalStream(isTerminal: columns != nil, columns: columns, environment: ["TERM": "dumb"])
            let lines = TextTable.rows(rows, of: "gateways", chosen: nil, known: [], on: stream)
                .split(separator: "\n").map(String.init)
            #expect(lines.count == 3 && lines[0].contains(" POLICY-POSI"), "\(lines)")
            #expect(lines[1].contains(" true  1234567 ") && lines[2].contains(" true  - "), "\(lines)")
        }
    }

    @Test func `nested members come in the order of the contract`() throws {
        let validate = try command("buckets validate")
        let shape = AnswerShape(validate.answerRow(model), model)
        #expect(shape.inside("steps").names.first == "step")
        let explain = AnswerShape(try command("explain").answerRow(model), model)
        #expect(explain.inside("nearMisses").inside("grant").names.first == "id")
    }

    @Test(arguments: [
        ("gratns", "grants"), ("ls", "list"), ("max-bytes", "conditions.max-bytes"), ("lsit", "list"), ("wholly", nil),
        ("l", nil), ("cond", "conditions.max-bytes"),
    ])
    func `what is near is suggested, and nothing else`(word: String, meant: String?) {
        #expect(Suggestion.nearest(to: word, among: ["grants", "list", "conditions.max-bytes"]) == meant)
    }

    @Test func `commands that delete ask, and those that judge are known by their answers`() {
        let asking = commands.filter(\.isDestructive).map { $0.words.joined(separator: " ") }
        #expect(asking.contains("grants delete") && asking.contains("tickets revoke"))
        #expect(asking.contains("principals offboard"))
        #expect(commands.filter { $0.rehearses(model) }.map(\.words) == [["principals", "offboard"]])
        #expect(commands.allSatisfy { $0.operation.method != "DELETE" || $0.isDestructive })
        #expect(commands.filter(\.deletesOnDemand).map(\.words) == [["grants", "apply"], ["grants", "import"]])
        #expect(commands.filter { $0.judges(model) }.contains { $0.words == ["buckets", "validate"] })
    }

    @Test func `an import that prunes and an application with deletions delete rows`() throws {
        let (importing, applying) = (try command("grants import"), try command("grants apply"))
        #expect(!importing.deletes([], nil) && !importing.deletes([("prune", "false")], nil))
        #expect(importing.deletes([("bucket", "photos"), ("prune", "true")], nil))
        let empty = ContractValue.object([.init("writes", .array([])), .init("deletes", .array([]))])
        #expect(!applying.deletes([], .object([])) && !applying.deletes([], empty))
        #expect(applying.deletes([], .object([.init("deletes", .array([.object([])]))])))
        #expect(try command("grants delete").deletes([], nil) && !command("grants create").deletes([], nil))
        #expect(try read("grants import", ["--prune", "--yes", "--file", "g.csv"]).isSure)
    }

    @Test func `answers that show a secret are known`() {
        let told = commands.filter { command in
            let members = command.answerRow(model)["properties"]?.members ?? []
            return members.contains { $0.value["description"]?.text?.contains("shown only once") == true }
        }
        #expect(told.count >= 3)
        #expect(commands.filter { $0.showsSecret(model) }.map(\.words) == told.map(\.words))
    }

    @Test func `progress is a bar where the whole is known`() {
        let half = AdminProgress.line("Sent", bytes: 512, lines: 3, of: 1024)
        #expect(
            half.hasPrefix(
                "Sent [" + String(repeating: "#", count: 15) + String(repeating: ".", count: 15) + "] 50 % of 1"))
        #expect(AdminProgress.line("Sent", bytes: 4096, lines: 3, of: 1024).contains("] 100 % of"))
        #expect(AdminProgress.line("Received", bytes: 2048, lines: 3, of: nil).hasSuffix(", 3 lines"))
        #expect(AdminProgress.line("Sent", bytes: 0, lines: 0, of: 0).hasSuffix(", 0 lines"))
    }

    /// Splits a line as a shell does if it contains no other quotes than single ones.
    private static func shellWords(_ line: String) throws -> [String] {
        var words: [String] = []
        var word: String?
        var isQuoted = false
        for character in line {
            switch character {
            case "'":
                isQuoted.toggle()
                word = word ?? ""
            case " " where !isQuoted:
                if let done = word { words.append(done) }
                word = nil
            default: word = (word ?? "") + String(character)
            }
        }
        try #require(!isQuoted)
        if let word { words.append(word) }
        return words
    }

    private static func sorted(_ value: ContractValue) -> ContractValue {
        switch value {
        case .object(let members):
            .object(members.map { .init($0.name, sorted($0.value)) }.sorted { $0.name < $1.name })
        case .array(let items): .array(items.map(sorted))
        default: value
        }
    }
}
