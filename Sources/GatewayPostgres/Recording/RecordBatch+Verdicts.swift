import FoundationEssentials
import GatewayCore
import LibPQ

extension RecordBatch {
    /// The result of a batch.
    enum Outcome: Sendable {
        /// The verdict on each item, in order.
        case verdicts([RecordVerdict])
        /// Nothing was recorded: when the database read the call, its clock was this many seconds ahead of the time of
        /// sending, more than is allowed.
        case clockDiffers(ahead: Double)
    }

    /// Translates the database's answer.
    ///
    /// - Throws: ``PostgresError/decoding(column:reason:)`` if the answer does not fit the batch.
    func outcome(by answer: Answer) throws(PostgresError) -> Outcome {
        if let ahead = answer.ahead { return .clockDiffers(ahead: ahead) }
        return .verdicts(try verdicts(by: answer))
    }

    private func verdicts(by answer: Answer) throws(PostgresError) -> [RecordVerdict] {
        let codes = answer.verdicts
        guard codes.map({ $0.count == entries.count }) ?? true else { throw Self.misfit }
        if let codes, codes.allSatisfy({ $0 == -1 }) { return codes.map { _ in .stale } }
        guard (answer.uses ?? []).count == slots.count, (answer.resetsIn ?? []).count == quotas.count else {
            throw Self.misfit
        }
        var account = Account(
            slots: slots, chargeSlots: chargeSlots, used: answer.uses ?? [], resetsIn: answer.resetsIn ?? [])
        account.goBack(before: entries, codes)
        var verdicts: [RecordVerdict] = []
        verdicts.reserveCapacity(entries.count)
        var first = 0
        for (item, entry) in entries.enumerated() {
            let charges = entry.proposal.charges
            switch codes?[item] ?? 0 {
            case -1: verdicts.append(.stale)
            case 0: verdicts.append(.recorded(remaining: account.take(charges, from: first)))
            case let refused:
                let place = Int(refused) - 1
                guard first..<(first + charges.count) ~= place else { throw Self.misfit }
                verdicts.append(.quotaExceeded(account.refusal(of: charges[place - first].quota, at: place)))
            }
            first += charges.count
        }
        return verdicts
    }

    private static var misfit: PostgresError { .decoding(column: 0, reason: "the answer does not fit the batch") }

    /// Computes the state of the counters before each item. The database returns their final state only.
    private struct Account {
        let slots: [Slot]
        let chargeSlots: [Int32]
        var used: [Int64]
        let resetsIn: [Int32?]

        /// Subtracts the charges of all recorded items.
        mutating func goBack(before entries: [LedgerEntry], _ codes: [Int32]?) {
            guard !chargeSlots.isEmpty else { return }
            var place = 0
            for (item, entry) in entries.enumerated() {
                for charge in entry.proposal.charges {
                    if codes?[item] ?? 0 == 0 { used[Int(chargeSlots[place])] &-= charge.amount }
                    place += 1
                }
            }
        }

        /// Adds an item's charges and returns what is left of each quota.
        mutating func take(_ charges: [QuotaCharge], from first: Int) -> [QuotaRemainder] {
            guard !charges.isEmpty else { return [] }
            var remaining: [QuotaRemainder] = []
            remaining.reserveCapacity(charges.count)
            for (index, charge) in charges.enumerated() {
                let slot = Int(chargeSlots[first + index])
                used[slot] &+= charge.amount
                remaining.append(
                    QuotaRemainder(
                        quotaID: charge.quota.id, remaining: charge.quota.limit &- used[slot],
                        resetsIn: resetsIn[slots[slot].quota].map { Int($0) }))
            }
            return remaining
        }

        func refusal(of quota: Quota, at place: Int) -> QuotaRefusal {
            let slot = Int(chargeSlots[place])
            return QuotaRefusal(
                quotaID: quota.id.uuidString.lowercased(), metric: quota.metric, period: quota.period,
                limit: quota.limit, remaining: max(0, quota.limit &- used[slot]),
                resetsIn: resetsIn[slots[slot].quota].map { Int($0) })
        }
    }
}
