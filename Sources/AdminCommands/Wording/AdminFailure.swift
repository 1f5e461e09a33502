import ContractModel
import GatewayTransport
import LocalFiles
import Terminal

/// The reason why a command failed.
enum AdminFailure: Error, Sendable {
    /// The command line is wrong: each mistake, and the words of the command whose help says what is right.
    case misuse([String], seeing: [String]?)
    /// A file cannot be read or written.
    case file(String)
    /// The gateway refused the request with this problem; `origin` set the member that the problem is about.
    case refused(status: Int, problem: ContractValue, advice: String? = nil, origin: Origin? = nil)
    /// The answer is missing or incomplete.
    case unreachable(String, advice: String? = nil)
    /// The user answered a question with no.
    case declined
    /// A signal ended the command.
    case interrupted

    /// Where a member of the request comes from.
    enum Origin: Sendable, Equatable {
        /// An option, without dashes in front.
        case option(String)
        /// A file, with the line.
        case file(String)
    }

    /// A command line with one mistake.
    static func usage(_ text: String) -> AdminFailure { .misuse([text], seeing: nil) }

    /// Exit status of the process.
    var exitCode: Int32 {
        switch self {
        case .misuse: 64
        case .file, .declined: 1
        case .unreachable: 7
        case .interrupted: ExitStatus.interrupted
        case .refused(let status, _, _, _): ExitStatus.ofRefusal(status)
        }
    }

    /// The meaning of each exit status, for `--help`.
    static let exitCodes = """
        0   success
        1   a file cannot be read or written; what was validated is not valid; you
            answered no
        2   the gateway rejected the request (400, 413, 422, …)
        3   the key is not valid, or lacks the role (401, 403)
        4   the row or the operation does not exist (404)
        5   the row already exists, is in use, or has changed in the meantime (409, 412)
        6   too many requests, or an error in the gateway or a store (429, 5xx)
        7   the gateway cannot be reached, or closed the connection
        64  the command line is wrong; nothing was sent
        130 interrupted while the answer went to a file of '--output'
        """

    /// Writes the failure to standard error.
    ///
    /// - Parameters:
    ///   - isJSON: Whether as a JSON document.
    ///   - stream: Standard error.
    func tell(asJSON isJSON: Bool, on stream: TerminalStream) {
        writeToStandardError((isJSON ? document.json(isIndented: true) : message(on: stream)) + "\n")
    }

    /// The text for standard error.
    ///
    /// - Parameter stream: The stream, for colours; `nil` for none.
    func message(on stream: TerminalStream?) -> String {
        let error = stream?.styled("error:", .red) ?? "error:"
        var lines = lines.map { $0.visible }
        let count: Int
        if case .misuse(let texts, _) = self { count = texts.count } else { count = 1 }
        for index in 0..<min(count, lines.count) { lines[index] = "\(error) \(lines[index])" }
        return lines.joined(separator: "\n")
    }

    private var lines: [String] {
        switch self {
        case .misuse(let texts, let words):
            return texts.flatMap { $0.split(separator: "\n", omittingEmptySubsequences: false).map(String.init) }
                + (words.map { ["See '\((["sluice", "admin"] + $0 + ["--help"]).joined(separator: " "))'."] } ?? [])
        case .file(let text): return [text]
        case .declined: return ["Nothing was changed."]
        case .interrupted: return ["Interrupted. The answer is not complete."]
        case .unreachable(let text, let advice): return [text] + (advice.map { ["  " + $0] } ?? [])
        case .refused(let status, let problem, let advice, let origin):
            let code = problem["code"]?.text ?? RemoteGateway.unknownAnswerCode
            var lines = ["\(code) (\(status)): \(problem["detail"]?.text ?? problem["title"]?.text ?? "")"]
            var known: Set<String> = ["type", "title", "status", "detail", "code", "requestID"]
            if case .option(let name) = origin {
                known.insert("field")
                lines.append("  option: --\(name)")
            }
            for member in problem.members where !known.contains(member.name) {
                lines.append("  \(member.name): \(member.value.cell)")
            }
            if case .file(let place) = origin { lines.append("  file: \(place)") }
            if let id = problem["requestID"]?.text { lines.append("  request id: \(id)") }
            if let advice { lines.append("  " + advice) }
            return lines
        }
    }

    /// The failure as people at a command line read it: the option in place of the member or parameter that it sets.
    ///
    /// - Parameter options: The names of the command's options, without dashes in front.
    func naming(_ options: Set<String>) -> AdminFailure {
        guard case .refused(let status, let problem, let advice, let origin) = self, origin == nil,
            let field = problem["field"]?.text
        else { return self }
        let option = AdminNames.option(field)
        guard options.contains(option) else { return self }
        return .refused(status: status, problem: problem, advice: advice, origin: .option(option))
    }

    /// The failure with the place in a file from which the member comes that the problem is about.
    ///
    /// - Parameter find: Returns the place of a member; `nil` if it does not come from the file.
    func located(_ find: (_ field: String) -> String?) -> AdminFailure {
        guard case .refused(let status, let problem, let advice, _) = self, let field = problem["field"]?.text,
            let place = find(field)
        else { return self }
        return .refused(status: status, problem: problem, advice: advice, origin: .file(place))
    }

    /// The failure as a JSON document: the gateway's problem, or one of the same shape.
    var document: ContractValue {
        if case .refused(_, let problem, _, _) = self, !problem.members.isEmpty { return problem }
        let code =
            switch self {
            case .misuse: "CommandLine"
            case .file: "File"
            case .declined: "Declined"
            case .interrupted: "Interrupted"
            case .unreachable: "Unreachable"
            case .refused: RemoteGateway.unknownAnswerCode
            }
        var document = ContractValue.object([.init("code", .string(code))])
        let texts = lines.map { $0.drop { $0 == " " } }
        document["detail"] = .string(texts.joined(separator: " "))
        if case .misuse(let texts, _) = self { document["errors"] = .array(texts.map { .string($0) }) }
        if case .refused(let status, _, _, _) = self { document["status"] = .integer(status) }
        return document
    }
}
