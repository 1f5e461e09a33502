import ObjectClient

extension ClientFailure {
    /// Exit status of the process; the same as that of `sluice admin` for the same failure.
    var exitCode: Int32 {
        switch self {
        case .usage: 64
        case .file: 1
        case .unreachable: 7
        case .different: 8
        case .stopped: 130
        case .gateway(let problem, _): Self.exitCode(ofStatus: problem.status)
        case .store(let refusal, _): Self.exitCode(ofStatus: refusal.status)
        }
    }

    private static func exitCode(ofStatus status: Int) -> Int32 {
        switch status {
        case 401, 403: 3
        case 404: 4
        case 409, 412, 428: 5
        case 429, 500...: 6
        default: 2
        }
    }

    /// The text for people.
    var lines: [String] {
        switch self {
        case .usage(let text), .file(let text), .unreachable(let text), .different(let text), .stopped(let text):
            return ["error: \(text)"]
        case .gateway(let problem, let seconds):
            var lines = ["error: \(problem.code) (\(problem.status)): \(problem.detail ?? problem.title ?? "")"]
            if let field = problem.field { lines.append("  field: \(field)") }
            if let seconds { lines.append("  ask again after: \(seconds) s") }
            if let id = problem.requestId { lines.append("  request id: \(id)") }
            return lines
        case .store(let refusal, _):
            let code = refusal.code.isEmpty ? "no code" : refusal.code
            return [
                "error: the store refused: \(code) (\(refusal.status))"
                    + (refusal.message.isEmpty ? "" : ": \(refusal.message)")
            ]
        }
    }

    /// The members of an error in JSON.
    struct Told: Encodable {
        var code: String
        var detail: String
        var status: Int?
        var field: String?
        var requestId: String?
        var retryAfter: Int?
    }

    /// The error as JSON.
    var told: Told {
        switch self {
        case .usage(let text): Told(code: "Usage", detail: text)
        case .file(let text): Told(code: "File", detail: text)
        case .unreachable(let text): Told(code: "Unreachable", detail: text)
        case .different(let text): Told(code: "Different", detail: text)
        case .stopped(let text): Told(code: "Interrupted", detail: text)
        case .gateway(let problem, let seconds):
            Told(
                code: problem.code, detail: problem.detail ?? problem.title ?? "", status: problem.status,
                field: problem.field, requestId: problem.requestId, retryAfter: seconds)
        case .store(let refusal, let seconds):
            Told(
                code: refusal.code.isEmpty ? "StoreRefused" : refusal.code, detail: refusal.message,
                status: refusal.status, retryAfter: seconds)
        }
    }
}

extension String {
    /// The text without control characters and marks that change the direction of text, which a terminal would obey.
    var visible: String {
        String(
            String.UnicodeScalarView(
                unicodeScalars.map { scalar in
                    switch scalar.properties.generalCategory {
                    case .control, .lineSeparator, .paragraphSeparator, .format: "\u{FFFD}"
                    default: scalar
                    }
                }))
    }
}
