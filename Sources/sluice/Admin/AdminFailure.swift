import ContractModel

/// Why a command did not do what it was asked for.
enum AdminFailure: Error, Sendable {
    /// The command line is wrong.
    case usage(String)
    /// A file cannot be read or written.
    case file(String)
    /// The gateway refused, and said why.
    case refused(status: Int, problem: ContractValue)
    /// There is no answer, or not all of it.
    case unreachable(String)

    /// What the process ends with.
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

    /// What the codes stand for, for `--help`.
    static let exitCodes = """
        0   done
        1   a file cannot be read or written
        2   the gateway refused the request as it is (400, 413, 422, …)
        3   the key is not accepted, or has not the role (401, 403)
        4   there is no such row or operation (404)
        5   the row exists, is in use, or was changed by somebody else (409, 412)
        6   too much at once, or a fault of the gateway or a store (429, 5xx)
        7   the gateway cannot be reached, or hung up
        64  the command line is wrong
        """

    /// What is said on standard error.
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
