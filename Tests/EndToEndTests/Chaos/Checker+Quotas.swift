import Foundation

/// Promise 3: a quota is never exceeded.
extension Checker {
    /// A counter, identified by quota, holder and start of the period.
    private struct Slot: Hashable {
        var quota: String
        var holder: String
        var period: Int
    }

    /// The charges of rows that were committed together, and the running sum up to them.
    private struct Step {
        var committedAt: Int
        var sum: Int
    }

    /// Reports wrong charges, sums above the limit, refusals while there was room, and wrong counters.
    func quotaFlaws() -> [String] {
        let (steps, flaws) = sums()
        return flaws + excesses(steps) + needlessRefusals(steps) + counterFlaws(steps)
    }

    private func sums() -> ([Slot: [Step]], [String]) {
        var flaws: [String] = []
        var charges: [Slot: [(committedAt: Int, amount: Int)]] = [:]
        for row in history.ledger {
            var expected: [String: Int] = [:]
            for quota in history.quotas {
                guard let amount = amount(of: row, against: quota) else { continue }
                expected[quota.id] = amount
                let slot = Slot(
                    quota: quota.id, holder: quota.isShared ? quota.principal : row.principal,
                    period: Self.periodStart(quota.period, at: row.issuedAt))
                charges[slot, default: []].append((row.committedAt, amount))
            }
            // A ticket counts its uses as a quota does.
            let charged = row.charges.filter { timelines[.ticket($0.quota)] == nil || $0.amount != 1 }
            let recorded = Dictionary(charged.map { ($0.quota, $0.amount) }) { $0 + $1 }
            if recorded != expected {
                flaws.append(
                    "\(row.id), \(row.delivery) of \(row.principal), is charged \(named(recorded)), not \(named(expected))"
                )
            }
        }
        let steps = charges.mapValues { charges in
            var steps: [Step] = []
            for charge in charges.sorted(by: { $0.committedAt < $1.committedAt }) {
                let sum = (steps.last?.sum ?? 0) + charge.amount
                if steps.last?.committedAt == charge.committedAt { steps.removeLast() }
                steps.append(Step(committedAt: charge.committedAt, sum: sum))
            }
            return steps
        }
        return (steps, flaws)
    }

    /// The charges, each with a description of its quota.
    private func named(_ charges: [String: Int]) -> [String] {
        charges.map { id, amount in
            let quota = history.quotas.first { $0.id == id }
            return "\(amount) \(quota.map { "\($0.metric) of \($0.principal)" } ?? "of unknown") \(id)"
        }.sorted()
    }

    /// The amount that a row must charge; `nil` where the quota does not apply to it.
    private func amount(of row: LedgerRow, against quota: QuotaRow) -> Int? {
        guard quota.principal == "*" || quota.principal == row.principal else { return nil }
        guard row.delivery != "multipart-complete" else { return nil }
        if quota.metric == "urls" { return 1 }
        return Way.bytes(of: row.delivery, method: row.method)
    }

    private func excesses(_ steps: [Slot: [Step]]) -> [String] {
        var flaws: [String] = []
        for (slot, steps) in steps {
            let limits = timelines[.limit(slot.quota)]?.changes.map(\.value) ?? []
            guard let last = steps.last, let largest = limits.max(), last.sum > largest else { continue }
            flaws.append("\(last.sum) were issued to \(slot.holder) against \(slot.quota) of \(largest) at the most")
        }
        // A credential is compared with the limits in force while the client asked, counted from its first attempt.
        var begins: [String: Double] = [:]
        for ask in history.asks {
            if let key = ask.repeatKey { begins[key] = min(begins[key] ?? .infinity, ask.from) }
        }
        for ask in history.asks {
            for credential in ask.given {
                guard let row = rows[credential.name]?.first else { continue }
                for quota in history.quotas where amount(of: row, against: quota) ?? 0 > 0 {
                    let slot = Slot(
                        quota: quota.id, holder: quota.isShared ? quota.principal : row.principal,
                        period: Self.periodStart(quota.period, at: row.issuedAt))
                    let limits = values(.limit(quota.id), from: begins[ask.repeatKey ?? ""] ?? ask.from, to: ask.to)
                    guard let sum = Self.sum(steps[slot] ?? [], at: row.committedAt), let limit = limits.max(),
                        sum > limit
                    else { continue }
                    flaws.append("the sum was \(sum) and the limit \(limit) at \(row.id), \(ask.label)")
                }
            }
        }
        return flaws
    }

    /// Reports needless refusals. A refusal is justified only by a quota with no room, at its smallest limit and after
    /// everything that was ever issued.
    private func needlessRefusals(_ steps: [Slot: [Step]]) -> [String] {
        var most: [String: Int] = [:]
        for (slot, steps) in steps { most[slot.quota] = max(most[slot.quota] ?? 0, steps.last?.sum ?? 0) }
        return history.asks.compactMap { ask in
            guard ask.refusals.contains(where: { $0.code == "QuotaExceeded" }) else { return nil }
            let hasReason = history.quotas.contains { quota in
                guard quota.principal == "*" || quota.principal == ask.principal else { return false }
                let limit = values(.limit(quota.id), from: ask.from, to: ask.to).min() ?? 0
                let wanted = quota.metric == "urls" ? ask.keys.count : ask.keys.count * Way.bytes
                return (most[quota.id] ?? 0) + wanted > limit
            }
            return hasReason ? nil : "refused although every quota had room, \(ask.label)"
        }
    }

    private func counterFlaws(_ steps: [Slot: [Step]]) -> [String] {
        var flaws = history.audit.map { ["sluice audit-quotas says: \($0)"] } ?? []
        var counted: [Slot: Int] = [:]
        for row in history.counters {
            counted[Slot(quota: row.quota, holder: row.holder, period: row.period)] = row.used + row.settled
        }
        for slot in Set(steps.keys).union(counted.keys) where history.quotas.contains(where: { $0.id == slot.quota }) {
            let sum = steps[slot]?.last?.sum ?? 0
            if counted[slot] ?? 0 != sum {
                flaws.append("\(slot.quota) counts \(counted[slot] ?? 0) of \(slot.holder), the ledger says \(sum)")
            }
        }
        return flaws
    }

    private static func sum(_ steps: [Step], at committedAt: Int) -> Int? {
        var (low, high) = (0, steps.count)
        while low < high {
            let middle = (low + high) / 2
            if steps[middle].committedAt < committedAt { low = middle + 1 } else { high = middle }
        }
        return low < steps.count ? steps[low].sum : nil
    }

    /// The start of a period, in seconds since 1970. Periods are in UTC.
    static func periodStart(_ period: String, at seconds: Double) -> Int {
        let lengths = ["minute": 60, "hour": 3600, "day": 86400]
        guard let length = lengths[period] else { return 0 }
        return Int(seconds) / length * length
    }
}
