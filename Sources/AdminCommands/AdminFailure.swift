import ContractModel

/// The reason why a command failed.
enum AdminFailure: Error, Sendable {
    /// The command line is wrong.
    case usage(String)
    /// A file cannot be read or written.
    case file(String)
    /// The gateway refused the request with this problem.
    case refused(status: Int, problem: ContractValue)
    /// The answer is missing or incomplete.
    case unreachable(String)

    /// Exit status of the process.
    var exitCode: Int32 {
        switch self {
        case .usage: 64
        case .file: 1
        case .unreachable: 7
        case .refused(let status, _):
            switch status {
            case 401, 403: 3
            case 404: 4
            case 409, 412, 428: 5
            case 429, 500...: 6
            default: 2
            }
        }
    }

    /// The meaning of each exit status, for `--help`.
    static let exitCodes = """
        0   success
        1   a file cannot be read or written
        2   the gateway rejected the request (400, 413, 422, …)
        3   the key is not valid, or lacks the role (401, 403)
        4   the row or the operation does not exist (404)
        5   the row already exists, is in use, or has changed in the meantime (409, 412)
        6   too many requests, or an error in the gateway or a store (429, 5xx)
        7   the gateway cannot be reached, or closed the connection
        64  the command line is wrong
        """

    /// The text for standard error.
    var message: String {
        switch self {
        case .usage(let text), .file(let text), .unreachable(let text):
            return "error: "
                + text.split(separator: "\n", omittingEmptySubsequences: false).map { String($0).visible }.joined(
                    separator: "\n")
        case .refused(let status, let problem):
            let code = problem["code"]?.text ?? "HTTP"
            var lines = ["error: \(code) (\(status)): \(problem["detail"]?.text ?? problem["title"]?.text ?? "")"]
            let known: Set<String> = ["type", "title", "status", "detail", "code", "requestId"]
            for member in problem.members where !known.contains(member.name) {
                lines.append("  \(member.name): \(member.value.cell)")
            }
            if let id = problem["requestId"]?.text { lines.append("  request id: \(id)") }
            return lines.map(\.visible).joined(separator: "\n")
        }
    }
}
