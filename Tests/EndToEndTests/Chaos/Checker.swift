import Foundation

/// Judges a history by the promises, from the outside: it shares no code with the gateway.
struct Checker {
    /// What must hold.
    enum Rule: String, CaseIterable, Sendable {
        /// What a client holds is on record once, as it is.
        case recorded
        /// Nothing is issued on what an admin took back, and nothing is refused that is permitted.
        case permitted
        /// No quota is exceeded, and every counter says what the ledger says.
        case counted
        /// An idempotency key has one effect and one answer.
        case once
        /// Answers are of the documented form and in time.
        case answered
        /// Every gateway serves again once the faults have ended.
        case revived
    }

    /// A rule that was broken, and how.
    struct Violation: Sendable, CustomStringConvertible {
        var rule: Rule
        var text: String
        var description: String { "\(rule.rawValue): \(text)" }
    }

    /// How much later than its deadline an answer may come on a machine that has much else to do.
    static let slack = 3.0
    /// How long a gateway may take to serve again.
    static let patience = 10.0

    let history: History
    /// Rows of the ledger by what clients know them by.
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

    /// All that is wrong; empty for a history that keeps the promises.
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

/// The changes of one subject, which followed one another.
struct Timeline: Sendable {
    let changes: [Change]

    init(_ changes: [Change]) { self.changes = changes.sorted { $0.from < $1.from } }

    /// The values at some instant of an interval: that of the last change that was answered before, and of all that may
    /// have come about later.
    func values(from: Double, to: Double) -> Set<Int> {
        let settled = changes.lastIndex { $0.to < from } ?? 0
        return Set(changes[settled...].prefix { $0.from <= to }.map(\.value))
    }
}

extension Ask {
    /// Names an ask in a verdict.
    var label: String {
        let time = String(format: "%.3f–%.3f s", from, to)
        return "\(principal) \(way.rawValue) \(keys.first ?? "") at gateway \(gateway).\(life), \(time)"
    }
}
