import Foundation
import GatewayCore
import LibPQ

/// The arguments of `record_issuances` for some proposals: arrays that run in parallel, references being indexes from 1.
struct RecordBatch: Sendable {
    private(set) var positionSequences: [Int64] = []
    private(set) var positionTags: [UUID] = []
    private(set) var scopes: [String] = []

    private(set) var itemPositions: [Int32] = []
    private(set) var scopeEnds: [Int32] = []
    private(set) var scopeReferences: [Int32] = []
    private(set) var ids: [UUID] = []
    private(set) var principals: [String] = []
    private(set) var matchedPrincipals: [String] = []
    private(set) var grantIDs: [UUID] = []
    private(set) var credentialIDs: [UUID] = []
    private(set) var deliveries: [String] = []
    private(set) var actions: [String] = []
    private(set) var methods: [String] = []
    private(set) var buckets: [String] = []
    private(set) var objectKeys: [String] = []
    private(set) var expiresAt: [Date] = []
    private(set) var contentTypes: [String?] = []
    private(set) var contentMD5s: [[UInt8]?] = []
    private(set) var contentLengths: [Int64?] = []
    private(set) var requestIDs: [String] = []

    private(set) var slotQuotas: [UUID] = []
    private(set) var slotHolders: [String] = []
    private(set) var slotPeriods: [String] = []
    private(set) var slotShared: [Bool] = []

    private(set) var chargeEnds: [Int32] = []
    private(set) var chargeQuotas: [UUID] = []
    private(set) var chargeSlots: [Int32] = []
    private(set) var chargeAmounts: [Int64] = []
    private(set) var chargeLimits: [Int64] = []
    private(set) var chargeBytes: [Bool] = []

    private struct Slot: Hashable {
        let quotaID: UUID
        let holder: Principal
        let period: Quota.Period
    }

    private var lastPosition: PolicyPosition?
    /// Where the references of the item before stand.
    private var previousScopes = 0..<0
    private var slotReferences: [Slot: Int32] = [:]

    /// Lays proposals out, in their order.
    init(_ proposals: some Sequence<IssuanceProposal>) {
        for proposal in proposals { append(proposal) }
    }

    /// Lays the proposals of entries out, in their order.
    init(_ entries: ArraySlice<LedgerQueue.Entry>) {
        reserve(entries.count)
        for entry in entries { append(entry.proposals[entry.place]) }
    }

    private mutating func reserve(_ count: Int) {
        itemPositions.reserveCapacity(count)
        scopeEnds.reserveCapacity(count)
        scopeReferences.reserveCapacity(count * 4)
        ids.reserveCapacity(count)
        principals.reserveCapacity(count)
        matchedPrincipals.reserveCapacity(count)
        grantIDs.reserveCapacity(count)
        credentialIDs.reserveCapacity(count)
        deliveries.reserveCapacity(count)
        actions.reserveCapacity(count)
        methods.reserveCapacity(count)
        buckets.reserveCapacity(count)
        objectKeys.reserveCapacity(count)
        expiresAt.reserveCapacity(count)
        contentTypes.reserveCapacity(count)
        contentMD5s.reserveCapacity(count)
        contentLengths.reserveCapacity(count)
        requestIDs.reserveCapacity(count)
        chargeEnds.reserveCapacity(count)
    }

    private mutating func append(_ proposal: IssuanceProposal) {
        itemPositions.append(reference(to: proposal.position))
        appendReferences(to: proposal.scopes)
        scopeEnds.append(Int32(scopeReferences.count))
        ids.append(proposal.id)
        principals.append(proposal.principal.rawValue)
        matchedPrincipals.append(proposal.matchedPrincipal.rawValue)
        grantIDs.append(proposal.grantID)
        credentialIDs.append(proposal.credentialID)
        deliveries.append(proposal.delivery.rawValue)
        actions.append(
            proposal.furtherAction.map { proposal.action.rawValue + "," + $0.rawValue } ?? proposal.action.rawValue)
        methods.append(proposal.method)
        buckets.append(proposal.bucket.rawValue)
        objectKeys.append(proposal.key.rawValue)
        expiresAt.append(proposal.expiresAt)
        contentTypes.append(proposal.contentType)
        contentMD5s.append(proposal.contentMD5)
        contentLengths.append(proposal.contentLength)
        requestIDs.append(proposal.requestID)
        for charge in proposal.charges {
            chargeQuotas.append(charge.quota.id)
            chargeSlots.append(reference(to: charge))
            chargeAmounts.append(charge.amount)
            chargeLimits.append(charge.quota.limit)
            chargeBytes.append(charge.quota.metric == .bytes)
        }
        chargeEnds.append(Int32(chargeSlots.count))
    }

    /// Neighbours mostly rest on the same position; that of others may stand there twice.
    private mutating func reference(to position: PolicyPosition) -> Int32 {
        if position != lastPosition {
            positionSequences.append(position.sequence)
            positionTags.append(position.tag)
            lastPosition = position
        }
        return Int32(positionSequences.count)
    }

    /// Neighbours mostly share bucket and credential, which stand in the same places; others may stand there twice.
    private mutating func appendReferences(to wanted: [PolicyScope]) {
        let previous = previousScopes
        previousScopes = scopeReferences.count..<(scopeReferences.count + wanted.count)
        for (place, scope) in wanted.enumerated() {
            if place < previous.count {
                let known = scopeReferences[previous.lowerBound + place]
                if ExactText(scopes[Int(known) - 1]) == ExactText(scope.rawValue) {
                    scopeReferences.append(known)
                    continue
                }
            }
            scopes.append(scope.rawValue)
            scopeReferences.append(Int32(scopes.count))
        }
    }

    private mutating func reference(to charge: QuotaCharge) -> Int32 {
        let slot = Slot(quotaID: charge.quota.id, holder: charge.holder, period: charge.quota.period)
        if let known = slotReferences[slot] { return known }
        slotQuotas.append(slot.quotaID)
        slotHolders.append(slot.holder.rawValue)
        slotPeriods.append(slot.period.rawValue)
        slotShared.append(charge.quota.sharing == .shared)
        let reference = Int32(slotQuotas.count)
        slotReferences[slot] = reference
        return reference
    }
}

extension RecordBatch {
    /// What the database said of a batch.
    struct Answer: Sendable {
        /// For each item: 0 recorded, -1 stale, else the charge that was refused, from 1.
        let verdicts: [Int32]
        /// For each charge, what is left.
        let remaining: [Int64]
        /// For each counter, seconds until its next period.
        let resetsIn: [Int32?]

        /// Whether there is an answer to each item, charge and counter.
        func fits(_ batch: RecordBatch) -> Bool {
            verdicts.count == batch.ids.count && remaining.count == batch.chargeSlots.count
                && resetsIn.count == batch.slotQuotas.count
                && verdicts.allSatisfy { $0 <= Int32(batch.chargeSlots.count) }
        }
    }

    /// The one statement that writes to the ledger.
    static let record = Statement<RecordBatch, Answer>(
        """
        SELECT verdicts, remaining, resets_in FROM record_issuances(
            $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24,
            $25, $26, $27, $28, $29, $30, $31
        )
        """,
        encode: { $0.parameters },
        decode: { row throws(PostgresError) in
            Answer(verdicts: try row.decode(0), remaining: try row.decode(1), resetsIn: try row.decode(2))
        }
    )

    private var parameters: [any PostgresValue] {
        [
            positionSequences, positionTags, scopes, itemPositions, scopeEnds, scopeReferences, ids, principals,
            matchedPrincipals, grantIDs, credentialIDs, deliveries, actions, methods, buckets, objectKeys, expiresAt,
            contentTypes, contentMD5s, contentLengths, requestIDs, slotQuotas, slotHolders, slotPeriods, slotShared,
            chargeEnds, chargeQuotas, chargeSlots, chargeAmounts, chargeLimits, chargeBytes,
        ]
    }

    /// The verdict on one item.
    ///
    /// - Parameters:
    ///   - item: Its place, from 0.
    ///   - charges: What the proposal charges.
    func verdict(on item: Int, charging charges: [QuotaCharge], by answer: Answer) -> RecordVerdict {
        let first = item == 0 ? 0 : Int(chargeEnds[item - 1])
        let resetsIn = { (charge: Int) in answer.resetsIn[Int(chargeSlots[charge]) - 1].map { Int($0) } }
        switch answer.verdicts[item] {
        case 0:
            return .recorded(
                remaining: charges.indices.map { index in
                    QuotaRemainder(
                        quotaID: charges[index].quota.id, remaining: answer.remaining[first + index],
                        resetsIn: resetsIn(first + index))
                }
            )
        case let refused where refused > 0:
            let charge = Int(refused) - 1
            let quota = charges[charge - first].quota
            return .quotaExceeded(
                QuotaRefusal(
                    quotaID: quota.id.uuidString.lowercased(), metric: quota.metric, period: quota.period,
                    limit: quota.limit, remaining: max(0, answer.remaining[charge]), resetsIn: resetsIn(charge)))
        default: return .stale
        }
    }
}
