import ContractModel
import Foundation
import Glibc
import LibCurl

/// Runs one command: builds the request, sends it and shows the answer.
struct AdminCall {
    let command: AdminOperation
    let invocation: AdminInvocation
    let model: ContractModel
    let client: AdminClient

    private var showsProgress: Bool { isatty(STDERR_FILENO) == 1 }

    func run(isTerminal: Bool) throws(AdminFailure) {
        if command.answersFile { return try export() }
        if command.isPaged { return try list(isTerminal) }
        let body = try body()
        defer { if case .file(_, _, _, let progress) = body { progress.end() } }
        let answer = try client.call(
            command.operation.method, target(invocation.query), headers: try headers(), body)
        if case .file(_, _, _, let progress) = body { progress.end() }
        try AdminClient.check(answer)
        guard !answer.body.isEmpty else { return }
        guard let value = answer.json else { return try write(answer.body) }
        try show(value)
    }

    /// Builds the path and query of the request.
    private func target(_ query: [(name: String, value: String)]) -> String {
        var path = command.operation.path
        for (parameter, value) in zip(command.path, invocation.path) {
            path = path.replacing("{\(parameter.name)}", with: Self.escaped(value))
        }
        let pairs = query.map { "\(Self.escaped($0.name))=\(Self.escaped($0.value))" }
        return path + (pairs.isEmpty ? "" : "?" + pairs.joined(separator: "&"))
    }

    /// Percent-encodes everything but the unreserved characters of RFC 3986.
    private static func escaped(_ text: String) -> String {
        let plain = CharacterSet(charactersIn: "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
        return text.addingPercentEncoding(withAllowedCharacters: plain) ?? ""
    }

    /// Returns the header fields. `If-Match` has the value of `--if-match`. Without that option, a command that
    /// requires `If-Match` reads the row's current version first.
    private func headers() throws(AdminFailure) -> [(name: String, value: String)] {
        if let tag = invocation.ifMatch {
            guard command.takesState else { throw .usage("'--if-match' does not apply to this command.") }
            return invocation.headers + [("If-Match", tag)]
        }
        guard command.needsState else { return invocation.headers }
        let row = try client.call("GET", target([]))
        try AdminClient.check(row)
        guard let tag = row.head["ETag"] else { throw .unreachable("The gateway's answer has no ETag.") }
        return invocation.headers + [("If-Match", tag)]
    }

    private func body() throws(AdminFailure) -> AdminClient.Body {
        if !command.fileTypes.isEmpty { return try file() }
        guard let json = command.json else {
            guard invocation.file == nil else { throw .usage("'--file' does not apply to this command.") }
            return .none
        }
        var value = invocation.body
        if let name = invocation.file {
            guard let read = ContractValue(json: try AdminFiles.content(name)) else {
                throw .file("'\(name)' is not valid JSON.")
            }
            value = invocation.body.members.reduce(into: read) { $0[$1.name] = $1.value }
        } else if !invocation.namesBody, model.resolved(json.schema)["required"]?.items.isEmpty == false {
            throw .usage("The body is missing. Set its members with options, or name a JSON file with '--file'.")
        }
        return .bytes(Array(value.json().utf8), type: json.type)
    }

    /// Returns a file as the body. It is sent while it is read.
    private func file() throws(AdminFailure) -> AdminClient.Body {
        let name = invocation.file ?? "-"
        let isTable = invocation.fileType == "csv" || (invocation.fileType == nil && name.hasSuffix(".csv"))
        let type = isTable ? "text/csv" : AdminOperation.lines
        guard command.fileTypes.contains(type) else {
            throw .usage("This command does not accept files of type \(type).")
        }
        let (handle, length) = try AdminFiles.reading(name)
        return .file(
            handle, length: length, type: type, progress: AdminProgress("Sent", total: length, isOn: showsProgress))
    }

    private func export() throws(AdminFailure) {
        let output = try AdminFiles.writing(invocation.output)
        // On a terminal, the bar would mix with the lines of the answer.
        let isOn = showsProgress && (invocation.output ?? "-" != "-" || isatty(STDOUT_FILENO) == 0)
        let progress = AdminProgress("Received", total: nil, isOn: isOn)
        defer { progress.end() }
        try client.stream(command.operation.method, target(invocation.query), headers: invocation.headers) { bytes in
            progress.add(bytes)
            do { try output.write(contentsOf: Data(bytes)) } catch { return false }
            return true
        }
    }

    /// Reads pages until there are enough rows.
    private func list(_ isTerminal: Bool) throws(AdminFailure) {
        var rows: [ContractValue] = []
        var token: String?
        repeat {
            let wanted = min(1000, invocation.limit.map { $0 - rows.count } ?? 1000)
            var query = invocation.query + [("pageSize", "\(wanted)")]
            if let token { query.append(("pageToken", token)) }
            let answer = try client.call("GET", target(query), headers: invocation.headers)
            try AdminClient.check(answer)
            guard let page = answer.json, page["items"] != nil else {
                throw .unreachable("The answer is not a page of a list.")
            }
            rows += page["items"]?.items ?? []
            let next = page["nextPageToken"]?.text
            guard next == nil || next != token else {
                throw .unreachable("The gateway answers the same page again and again.")
            }
            token = next
        } while token != nil && rows.count < invocation.limit ?? .max
        if let limit = invocation.limit { rows = Array(rows.prefix(limit)) }
        if invocation.isJSON {
            try write(Array((ContractValue.object([.init("items", .array(rows))]).json(isIndented: true) + "\n").utf8))
        } else {
            let table = TextTable.rows(
                rows, of: command.words[0], chosen: try columns(), known: command.answerMembers(model),
                isTerminal: isTerminal)
            try write(Array((rows.isEmpty ? "" : table).utf8))
        }
        if token != nil {
            FileHandle.standardError.write(Data("There are more rows. Use '--limit' or '--all' to see them.\n".utf8))
        }
    }

    private func columns() throws(AdminFailure) -> [String]? {
        let known = command.answerMembers(model)
        guard let chosen = invocation.columns else { return nil }
        var columns: [String] = []
        for name in chosen {
            guard let column = known.first(where: { AdminNames.key($0) == AdminNames.key(name) }) else {
                throw .usage("There is no column '\(name)'. The columns are: \(known.joined(separator: ", ")).")
            }
            columns.append(column)
        }
        return columns
    }

    private func show(_ value: ContractValue) throws(AdminFailure) {
        if let name = invocation.printed {
            guard let member = value.members.first(where: { AdminNames.key($0.name) == AdminNames.key(name) }) else {
                let names = value.members.map(\.name).joined(separator: ", ")
                throw .usage("The answer has no member '\(name)'. Its members are: \(names).")
            }
            return try write(Array(((member.value.text ?? member.value.json()).visible + "\n").utf8))
        }
        let text =
            invocation.isJSON
            ? value.json(isIndented: true) + "\n"
            : TextTable.members(of: value, known: command.answerMembers(model))
        try write(Array(text.utf8))
    }

    private func write(_ bytes: [UInt8]) throws(AdminFailure) {
        let output = try AdminFiles.writing(invocation.output)
        do { try output.write(contentsOf: Data(bytes)) } catch { throw .file("The output cannot be written.") }
    }
}
