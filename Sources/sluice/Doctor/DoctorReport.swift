import FoundationEssentials
import LocalFiles
import Terminal

/// What `sluice doctor` found, in the order in which it looked.
struct DoctorReport: Sendable {
    /// The things that are looked at, in order.
    enum Subject: String, Encodable, Sendable {
        case settings, files, database, durability, locks, schema, roles, clock
        case masterKey = "master-key"
        case gateways, outbound, listeners
    }

    enum Outcome: String, Encodable, Sendable {
        case ok
        /// The gateway works, but the operator should know.
        case warning
        case failed
        /// Something else has to be mended first.
        case skipped
    }

    /// One finding.
    struct Finding: Encodable, Sendable {
        var check: Subject
        var outcome: Outcome
        /// What was found, in a sentence.
        var message: String
        /// What to do about it; `nil` where nothing has to be done.
        var advice: String?
    }

    private(set) var findings: [Finding] = []

    /// Whether something is wrong.
    var hasFailed: Bool { findings.contains { $0.outcome == .failed } }

    mutating func note(_ check: Subject, _ outcome: Outcome, _ message: String, advice: String? = nil) {
        // libpq's messages may have several lines.
        let line = message.split(whereSeparator: \.isNewline).map { $0.trimmed() }
            .joined(separator: " ")
        findings.append(Finding(check: check, outcome: outcome, message: line, advice: advice))
    }

    /// The report as lines for people.
    var text: String {
        let lines = findings.flatMap { finding in
            let head = [finding.outcome.rawValue.padded(to: 8), finding.check.rawValue.padded(to: 11)]
            let margin = String(repeating: " ", count: 21)
            return [(head + [finding.message.visible]).joined(separator: " ")]
                + (finding.advice.map { [margin + $0.visible] } ?? [])
        }
        let (failed, warnings) = (count(.failed), count(.warning))
        let sum = failed + warnings == 0 ? "All is well." : "Failed: \(failed). Warnings: \(warnings)."
        return (lines + [sum]).joined(separator: "\n")
    }

    /// The report as one JSON object: `{"ok": …, "checks": [{"check", "outcome", "message", "advice"}]}`.
    func json() throws -> String {
        struct Document: Encodable {
            let ok: Bool
            let checks: [Finding]
        }
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        let data = try encoder.encode(Document(ok: !hasFailed, checks: findings))
        return String(decoding: data, as: UTF8.self).visibleJSON
    }

    private func count(_ outcome: Outcome) -> Int { findings.count { $0.outcome == outcome } }
}

extension String {
    fileprivate func padded(to width: Int) -> String {
        self + String(repeating: " ", count: max(0, width - count))
    }
}
