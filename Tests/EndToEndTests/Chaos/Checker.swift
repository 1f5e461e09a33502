import Foundation

/// Judges a history by the promises, from outside: it shares no code with the gateway.
struct Checker {
    /// The rules that must hold.
    enum Rule: String, CaseIterable, Sendable {
        /// Every credential that a client holds is recorded exactly once, with correct values.
        case recorded
        /// Nothing is issued under a revoked row, and nothing is refused that is permitted.
        case permitted
        /// No quota is exceeded, and every counter agrees with the ledger.
        case counted
        /// An idempotency key has one effect and one answer.
        case once
        /// Answers have a documented form and arrive in time.
        case answered
        /// Every gateway serves again once the faults have ended.
        case revived
    }

    /// A broken rule, with a description.
    struct Violation: Sendable, CustomStringConvertible {
        var rule: Rule
        var text: String
        var description: String { "\(rule.rawValue): \(text)" }
    }

    /// Seconds after its deadline that an answer may still take on a busy machine.
    static let slack = 3.0
    /// Seconds that a gateway may take until it serves again.
    static let patience = 10.0

    let history: History
    /// Rows of the ledger by the name under which clients know them.
    let rows: [Credential.Name: [LedgerRow]]
    let timelines: [Subject: Timeline]
    let grantsByID: [String: GrantRow]

    init(_ history: History) {
        self.history = history
        var rows: [Credential.Name: [LedgerRow]] = [:]
        for row in history.ledger {
            rows[.row(row.id), default: []].append(row)
            rows[.request(row.request), default: []].append(row)
        }
        self.rows = rows
        timelines = Dictionary(grouping: history.changes, by: \.subject).mapValues { Timeline($0) }
        grantsByID = Dictionary(history.grants.map { ($0.id, $0) }) { first, _ in first }
    }

    /// All violations; empty for a history that keeps the promises.
    func violations() -> [Violation] {
        var found: [Violation] = []
        for (rule, texts) in [
            (Rule.recorded, recordFlaws()), (.permitted, policyFlaws()), (.counted, quotaFlaws()),
            (.once, repetitionFlaws()), (.answered, answerFlaws()), (.revived, revivalFlaws()),
        ] { found += texts.map { Violation(rule: rule, text: $0) } }
        return found
    }

    /// The values that a subject may have had at some instant of an interval.
    func values(_ subject: Subject, from: Double, to: Double) -> Set<Int> {
        timelines[subject]?.values(from: from, to: to) ?? []
    }
}

/// The changes of one subject, in order.
struct Timeline: Sendable {
    let changes: [Change]

    init(_ changes: [Change]) { self.changes = changes.sorted { $0.from < $1.from } }

    /// The values at some instant of an interval: the value of the last change answered before it, and of all changes
    /// that may have taken effect later.
    func values(from: Double, to: Double) -> Set<Int> {
        let settled = changes.lastIndex { $0.to < from } ?? 0
        return Set(changes[settled...].prefix { $0.from <= to }.map(\.value))
    }
}

extension Ask {
    /// The name of a request in a violation.
    var label: String {
        let time = String(format: "%.3f–%.3f s", from, to)
        return "\(principal) \(way.rawValue) \(keys.first ?? "") at gateway \(gateway).\(life), \(time)"
    }
}
