import ObjectClient
import Terminal

extension ClientFailure {
    /// Exit status of the process.
    var exitCode: Int32 {
        switch self {
        case .usage: 64
        case .file, .declined: 1
        case .unreachable: 7
        case .different: 8
        case .stopped: ExitStatus.interrupted
        case .gateway(let problem, _): ExitStatus.ofRefusal(problem.status)
        case .store(let refusal, _): ExitStatus.ofRefusal(refusal.status)
        }
    }

    /// The text for people.
    var lines: [String] {
        switch self {
        case .usage(let text), .file(let text), .unreachable(let text), .different(let text), .stopped(let text),
            .declined(let text):
            return ["error: \(text)"]
        case .gateway(let problem, let seconds):
            var lines = ["error: \(problem.code) (\(problem.status)): \(problem.detail ?? problem.title ?? "")"]
            if let field = problem.field { lines.append("  field: \(field)") }
            if let seconds { lines.append("  ask again after: \(seconds) s") }
            if let id = problem.requestID { lines.append("  request id: \(id)") }
            return lines
        case .store(let refusal, _):
            let code = refusal.code.isEmpty ? "no code" : refusal.code
            return [
                "error: the store refused: \(code) (\(refusal.status))"
                    + (refusal.message.isEmpty ? "" : ": \(refusal.message)")
            ]
        }
    }

    /// The JSON document for programs, on a line of its own.
    ///
    /// - Parameter stage: The file or object that a command for several is at.
    func document(at stage: GatewayOptions.Stage? = nil) -> String {
        let isFile = stage?.path != nil
        return jsonLine(Envelope(error: told, file: isFile ? stage : nil, object: isFile ? nil : stage))
    }

    private struct Envelope: Encodable {
        var error: Told
        var file: GatewayOptions.Stage?
        var object: GatewayOptions.Stage?
    }

    /// The members of an error in JSON.
    struct Told: Encodable {
        var code: String
        var detail: String
        var status: Int?
        var field: String?
        var requestID: String?
        var retryAfter: Int?
    }

    /// The error as JSON.
    var told: Told {
        switch self {
        case .usage(let text): Told(code: "CommandLine", detail: text)
        case .file(let text): Told(code: "File", detail: text)
        case .unreachable(let text): Told(code: "Unreachable", detail: text)
        case .different(let text): Told(code: "Different", detail: text)
        case .stopped(let text): Told(code: "Interrupted", detail: text)
        case .declined(let text): Told(code: "Declined", detail: text)
        case .gateway(let problem, let seconds):
            Told(
                code: problem.code, detail: problem.detail ?? problem.title ?? "", status: problem.status,
                field: problem.field, requestID: problem.requestID, retryAfter: seconds)
        case .store(let refusal, let seconds):
            Told(
                code: refusal.code.isEmpty ? "StoreRefused" : refusal.code, detail: refusal.message,
                status: refusal.status, retryAfter: seconds)
        }
    }
}
