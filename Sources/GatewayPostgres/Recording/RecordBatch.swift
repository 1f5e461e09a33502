import Bytes
import FoundationEssentials
import GatewayCore

/// Proposals in the form that the recording functions take. Shared values appear once, and counters are in the order in
/// which all recordings lock them.
struct RecordBatch: Sendable {
    let entries: [LedgerEntry]

    /// The quotas that the items charge, in the order in which counters are locked.
    private(set) var quotas: [Quota] = []
    /// The counters, ordered by quota and then by holder.
    private(set) var slots: [Slot] = []
    /// For each charge, the index of its counter, from 0.
    private(set) var chargeSlots: [Int32] = []
    /// Whether some counter has no room for all items together. Items are then admitted one by one.
    private(set) var isOneByOne = false

    /// A counter: one quota for one holder.
    struct Slot: Sendable {
        /// Index of its quota, from 0.
        let quota: Int
        let holder: Principal
        /// The sum of all items' charges; 0 if the sum exceeds the quota's limit.
        var amount: Int64
    }

    /// Whether a quota was changed between two of the decisions. It is then unknown which counters they share.
    private var isMixed = false

    /// Makes one batch of the entries, or several if a quota was changed between their decisions.
    static func batches(of entries: [LedgerEntry]) -> [RecordBatch] {
        let batch = RecordBatch(entries)
        guard batch.isMixed, entries.count > 1 else { return [batch] }
        let middle = entries.count / 2
        return batches(of: Array(entries[..<middle])) + batches(of: Array(entries[middle...]))
    }

    /// Makes a batch of the proposals of one decision, in order.
    init(_ proposals: some Sequence<IssuanceProposal>) {
        self.init(proposals.map { LedgerEntry($0, deadline: .now, for: .nobody) })
    }

    /// Makes a batch of entries, in order.
    private init(_ entries: [LedgerEntry]) {
        self.entries = entries
        layOutCharges()
    }

    /// A charge before its counter is known.
    private struct Charge {
        var quota: Int
        let holder: Principal
        let amount: Int64
        /// Its index among all charges.
        let place: Int
    }

    private mutating func layOutCharges() {
        var charges: [Charge] = []
        for entry in entries {
            for charge in entry.proposal.charges {
                charges.append(
                    Charge(
                        quota: place(of: charge.quota), holder: charge.holder, amount: charge.amount,
                        place: charges.count))
            }
        }
        guard !charges.isEmpty else { return }
        if quotas.count > 1 { sortQuotas(of: &charges) }
        if charges.count > 1 {
            charges.sort { left, right in
                left.quota == right.quota
                    ? left.holder.rawValue.precedesInBytes(right.holder.rawValue) : left.quota < right.quota
            }
        }
        chargeSlots = Array(repeating: 0, count: charges.count)
        slots.reserveCapacity(charges.count)
        for charge in charges {
            if let last = slots.last, last.quota == charge.quota,
                last.holder.rawValue.isSameBytes(as: charge.holder.rawValue)
            {
                let (sum, overflow) = last.amount.addingReportingOverflow(charge.amount)
                slots[slots.count - 1].amount = last.amount < 0 || overflow ? -1 : sum
            } else {
                slots.append(Slot(quota: charge.quota, holder: charge.holder, amount: charge.amount))
            }
            chargeSlots[charge.place] = Int32(slots.count - 1)
        }
        // A negative sum stands for an overflow.
        for index in slots.indices where !(0...quotas[slots[index].quota].limit ~= slots[index].amount) {
            slots[index].amount = 0
            isOneByOne = true
        }
    }

    private mutating func place(of quota: Quota) -> Int {
        if let known = quotas.firstIndex(where: { $0.id == quota.id }) {
            isMixed = isMixed || !quotas[known].isCounted(as: quota)
            return known
        }
        quotas.append(quota)
        return quotas.count - 1
    }

    /// Sorts the quotas by the order in which counters are locked.
    private mutating func sortQuotas(of charges: inout [Charge]) {
        let order = quotas.indices.sorted { quotas[$0].isTaken(before: quotas[$1]) }
        var places = Array(repeating: 0, count: order.count)
        for (new, old) in order.enumerated() { places[old] = new }
        quotas = order.map { quotas[$0] }
        for index in charges.indices { charges[index].quota = places[charges[index].quota] }
    }
}

extension Quota {
    /// Whether another state of the quota has the same counters and the same limit.
    fileprivate func isCounted(as other: Quota) -> Bool {
        period == other.period && limit == other.limit && sharing == other.sharing
    }

    /// Whether the quota's counters are locked before those of another. Shared ones come last, since other principals
    /// wait for them.
    fileprivate func isTaken(before other: Quota) -> Bool {
        sharing == other.sharing ? id < other.id : sharing == .each
    }
}
