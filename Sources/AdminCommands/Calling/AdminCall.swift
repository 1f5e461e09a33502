import Bytes
import ContractModel
import FoundationEssentials
import GatewayTransport
import Glibc
import LibCurl
import LocalFiles
import Terminal

/// Runs one command: builds the request, sends it and shows the answer.
struct AdminCall {
    let command: AdminOperation
    let invocation: AdminInvocation
    let model: ContractModel
    let client: AdminClient

    let screen: AdminScreen

    private var showsProgress: Bool { screen.errors.isTerminal }

    /// Runs the command.
    ///
    /// - Returns: The exit status: 1 if the answer says that what was examined is not valid.
    func run() throws(AdminFailure) -> Int32 {
        // Before anything is sent: an answer may hold what is shown only once.
        let output = try AdminOutputFile(invocation.output, isPrivate: command.showsSecret(model))
        defer { output.discard() }
        let interrupts =
            output.isReplacement
            ? Interrupts { [isJSON = invocation.isJSON, errors = screen.errors] in
                output.discard()
                // The terminal has `^C` in its line, and perhaps a bar.
                if errors.isTerminal { writeToStandardError("\n") }
                AdminFailure.interrupted.tell(asJSON: isJSON, on: errors)
                _exit(AdminFailure.interrupted.exitCode)
            } : nil
        defer { interrupts?.end() }
        return try run(writingTo: output)
    }

    private func run(writingTo output: AdminOutputFile) throws(AdminFailure) -> Int32 {
        if command.answersFile {
            try export(to: output)
            return 0
        }
        if command.isPaged {
            try list(to: output)
            return 0
        }
        let file = try jsonFile()
        do throws(AdminFailure) {
            return try act(file, writingTo: output)
        } catch {
            throw error.located { invocation.setsMember($0) ? nil : file?.place(of: $0) }
        }
    }

    /// Sends a body, or nothing, and shows the answer.
    private func act(_ file: AdminJSONFile?, writingTo output: AdminOutputFile) throws(AdminFailure) -> Int32 {
        let sent = try value(file)
        let rehearsal = try rehearse(sent)
        if asks(sent), rehearsal?.count != 0 { try confirm(question(rehearsal)) }
        let body = try body(sent)
        defer { if case .file(_, _, _, let progress) = body { progress.end() } }
        let answer = try client.call(
            command.operation.method, target(invocation.query), headers: try headers(rehearsal), body)
        if case .file(_, _, _, let progress) = body { progress.end() }
        try client.check(answer)
        guard !answer.body.isEmpty else {
            if screen.isInteractive, screen.errors.isTerminal { screen.note("Done.") }
            return 0
        }
        guard let value = answer.json else {
            try write(answer.body, to: output)
            return 0
        }
        try show(value, on: output)
        return command.judges(model) && value["valid"] == .bool(false) ? 1 : 0
    }

    /// What a command would do, by a dry run.
    private struct Rehearsal {
        /// Identifies the rows; `nil` if the command names no version.
        var tag: String?
        /// The number of rows that it would remove.
        var count: Int?
    }

    /// Sends a dry run: before a command that removes what it finds, so that it removes exactly these rows (with an
    /// idempotency key, whatever there is by then), and before a person is asked how many rows may go. `nil` for other
    /// commands, for one that is a dry run itself or names the version that it expects, and for a body that can be read
    /// only once.
    private func rehearse(_ value: ContractValue?) throws(AdminFailure) -> Rehearsal? {
        let namesRows = command.rehearses(model)
        guard !isDryRun(value),
            namesRows ? value != nil && invocation.ifMatch == nil : command.deletesOnDemand && asks(value)
        else { return nil }
        var (query, dry) = (invocation.query, value)
        if value == nil {
            guard try AdminFiles.reading(invocation.file ?? "-").length != nil else { return nil }
            query.append((AdminOperation.dryRun, "true"))
        } else {
            dry?[AdminOperation.dryRun] = .bool(true)
        }
        let body = try body(dry)
        defer { if case .file(_, _, _, let progress) = body { progress.end() } }
        let answer = try client.call(command.operation.method, target(query), body)
        try client.check(answer)
        guard namesRows else { return Rehearsal(tag: nil, count: answer.json?["deleted"]?.integer) }
        guard let tag = answer.head["ETag"] else { throw .unreachable("The gateway's answer has no ETag.") }
        return Rehearsal(tag: tag, count: answer.json?["count"]?.integer)
    }

    private func isDryRun(_ value: ContractValue?) -> Bool {
        value?[AdminOperation.dryRun] == .bool(true)
            || invocation.query.contains { $0.name == AdminOperation.dryRun && $0.value == "true" }
    }

    /// Whether a person is asked before the command is done. Where standard input holds the body, standard error tells
    /// whether there is one.
    private func asks(_ value: ContractValue?) -> Bool {
        let isAttended = screen.isInteractive || (invocation.readsStandardInput && screen.errors.isTerminal)
        return command.deletes(invocation.query, value) && !isDryRun(value) && !invocation.isSure && isAttended
    }

    /// Asks the person at the terminal.
    ///
    /// - Throws: ``AdminFailure/declined`` after a no, ``AdminFailure/misuse(_:seeing:)`` if nobody can be asked.
    private func confirm(_ question: String) throws(AdminFailure) {
        let isConfirmed: Bool
        do throws(FileError) { isConfirmed = try TerminalQuestion.confirms(question) } catch {
            throw .usage(TerminalQuestion.refusal)
        }
        guard isConfirmed else { throw .declined }
    }

    /// What is asked before a destructive command, such as `Delete the grant 0198…?`.
    private func question(_ rehearsal: Rehearsal?) -> String {
        if command.rehearses(model) || command.deletesOnDemand {
            let object = command.deletesOnDemand ? command.words[0] : invocation.path.joined(separator: " ")
            let text = "\((command.words.last ?? "").capitalized) \(object)"
            guard let count = rehearsal?.count else {
                return command.deletesOnDemand ? text + ", which may remove rows?" : text + "?"
            }
            return "\(text), which removes \(count) \(count == 1 ? "row" : "rows")?"
        }
        let target = (invocation.path + invocation.body.members.map { $0.value.cell }).joined(separator: " ")
        var words = command.operation.summary.split(separator: " ")
        if let article = words.firstIndex(where: { $0 == "a" || $0 == "an" }) { words[article] = "the" }
        return "\(words.joined(separator: " ")) \(target)?"
    }

    /// Builds the path and query of the request.
    private func target(_ query: [(name: String, value: String)]) -> String {
        var path = command.operation.path
        for (parameter, value) in zip(command.path, invocation.path) {
            path = path.replacing("{\(parameter.name)}", with: value.percentEncoded)
        }
        let pairs = query.map { "\($0.name.percentEncoded)=\($0.value.percentEncoded)" }
        return path + (pairs.isEmpty ? "" : "?" + pairs.joined(separator: "&"))
    }

    /// Returns the header fields. `If-Match` has the value of `--if-match`, or that of the rehearsal, or `*` with an
    /// idempotency key. Without these, a command that requires `If-Match` reads the row's current version first.
    private func headers(_ rehearsal: Rehearsal?) throws(AdminFailure) -> [(name: String, value: String)] {
        if let tag = invocation.ifMatch { return invocation.headers + [("If-Match", tag)] }
        if let tag = rehearsal?.tag {
            // A request that is repeated is the same request, whatever it has removed the first time.
            let isRepeatable = invocation.headers.contains { $0.name == "Idempotency-Key" }
            return invocation.headers + [("If-Match", isRepeatable ? "*" : tag)]
        }
        guard command.needsState else { return invocation.headers }
        let row = try client.call("GET", target([]))
        try client.check(row)
        guard let tag = row.head["ETag"] else { throw .unreachable("The gateway's answer has no ETag.") }
        return invocation.headers + [("If-Match", tag)]
    }

    /// Whether the command sends a JSON body.
    private var sendsJSON: Bool { command.fileTypes.isEmpty && command.json != nil }

    /// Reads the file with the JSON body; `nil` if there is none.
    private func jsonFile() throws(AdminFailure) -> AdminJSONFile? {
        guard sendsJSON, let name = invocation.file else { return nil }
        return try AdminFiles.json(name)
    }

    /// Returns the JSON body; `nil` if the command sends none.
    private func value(_ file: AdminJSONFile?) throws(AdminFailure) -> ContractValue? {
        guard sendsJSON else { return nil }
        guard let file else { return invocation.body }
        let value = invocation.changed(file.value)
        let missing = AdminRequirements(of: command, model).missing(in: value)
        guard missing.isEmpty else { throw .misuse(missing, seeing: command.words) }
        return value
    }

    private func body(_ value: ContractValue?) throws(AdminFailure) -> AdminClient.Body {
        if !command.fileTypes.isEmpty { return try file() }
        guard let value, let json = command.json else { return .none }
        return .bytes(Array(value.json().utf8), type: json.type)
    }

    /// Returns a file as the body. It is sent while it is read.
    private func file() throws(AdminFailure) -> AdminClient.Body {
        let name = invocation.file ?? "-"
        var format = invocation.fileType
        if format == nil { format = try AdminFiles.format(of: name, option: "--file-type") }
        let type = format == "csv" ? "text/csv" : AdminOperation.lines
        guard command.fileTypes.contains(type) else {
            throw .usage("This command does not accept \(format ?? "ndjson").")
        }
        let (file, length) = try AdminFiles.reading(name)
        return .file(
            file, length: length, type: type, progress: AdminProgress("Sent", total: length, isOn: showsProgress))
    }

    private func export(to output: AdminOutputFile) throws(AdminFailure) {
        let name = invocation.output ?? "-"
        var query = invocation.query
        let option = command.answerTypes.contains("text/csv") ? "--format" : nil
        if !query.contains(where: { $0.name == "format" }),
            let format = try AdminFiles.format(of: name, option: option), format != "ndjson"
        {
            query.append(("format", format))
        }
        // On a terminal, the bar would mix with the lines of the answer.
        let progress = AdminProgress(
            "Received", total: nil, isOn: showsProgress && (name != "-" || !screen.output.isTerminal))
        defer { progress.end() }
        do throws(AdminFailure) {
            try client.stream(command.operation.method, target(query), headers: invocation.headers) { bytes in
                progress.add(bytes)
                return output.write(bytes)
            }
        } catch {
            if let failure = output.failure { throw failure }
            throw error
        }
        try output.complete()
    }

    /// Reads pages until there are enough rows.
    private func list(to output: AdminOutputFile) throws(AdminFailure) {
        var rows: [ContractValue] = []
        // What the first page tells besides its rows.
        var others: [ContractValue.Member] = []
        var token: String?
        repeat {
            let wanted = min(1000, invocation.limit.map { $0 - rows.count } ?? 1000)
            var query = invocation.query + [("pageSize", "\(wanted)")]
            if let token { query.append(("pageToken", token)) }
            let answer = try client.call("GET", target(query), headers: invocation.headers)
            try client.check(answer)
            guard let page = answer.json, page["items"] != nil else {
                throw .unreachable("The answer is not a page of a list.")
            }
            rows += page["items"]?.items ?? []
            if token == nil { others = page.members.filter { !["items", "nextPageToken"].contains($0.name) } }
            let next = page["nextPageToken"]?.text
            guard next == nil || next != token else {
                throw .unreachable("The gateway answers the same page again and again.")
            }
            token = next
        } while token != nil && rows.count < invocation.limit ?? .max
        if let limit = invocation.limit { rows = Array(rows.prefix(limit)) }
        try show(rows, beside: others, on: output)
        if rows.isEmpty, !isJSON { screen.note("There are no rows.") }
        if token != nil { screen.note("There are more rows. Use '--limit' or '--all' to see them.") }
    }

    /// Whether to print JSON: on demand, or where the name of the output says so.
    private var isJSON: Bool {
        invocation.isJSON || (invocation.printed == nil && invocation.output?.hasSuffix(".json") == true)
    }

    private func show(
        _ rows: [ContractValue], beside others: [ContractValue.Member], on output: AdminOutputFile
    ) throws(AdminFailure) {
        if isJSON {
            let page = ContractValue.object(others + [.init("items", .array(rows))])
            return try write(Array((page.json(isIndented: true) + "\n").utf8), to: output)
        }
        if let members = invocation.printed {
            return try write(Array(rows.map { Self.line(of: members, in: $0) }.joined().utf8), to: output)
        }
        let stream = invocation.output == nil ? screen.output : nil
        let table = TextTable.rows(
            rows, of: command.words[0], chosen: invocation.columns, known: command.answerMembers(model), on: stream)
        let lines = TextTable.members(
            of: .object(others), by: AnswerShape(command.answerSchema(model), model), on: stream)
        let blocks = [rows.isEmpty ? "" : table, lines].filter { !$0.isEmpty }
        try write(Array(blocks.joined(separator: "\n").utf8), to: output)
    }

    /// Returns the values of members with tabs between them.
    private static func line(of members: [[String]], in row: ContractValue) -> String {
        let values = members.map { path in
            let value = path.reduce(Optional(row)) { $0?[$1] } ?? .null
            return (value.text ?? (value == .null ? "" : value.json())).visible
        }
        return values.joined(separator: "\t") + "\n"
    }

    private func show(_ value: ContractValue, on output: AdminOutputFile) throws(AdminFailure) {
        if let members = invocation.printed {
            return try write(Array(Self.line(of: members, in: value).utf8), to: output)
        }
        let text =
            isJSON
            ? value.json(isIndented: true) + "\n"
            : TextTable.members(
                of: value, by: AnswerShape(command.answerRow(model), model),
                on: invocation.output == nil ? screen.output : nil)
        try write(Array(text.utf8), to: output)
    }

    private func write(_ bytes: [UInt8], to output: AdminOutputFile) throws(AdminFailure) {
        _ = output.write(bytes)
        try output.complete()
    }
}
