import Bytes
import FoundationEssentials
import GatewayCore
import LibPQ

extension RecordBatch {
    /// The database's answer to a batch.
    struct Answer: Sendable {
        /// For each item: 0 recorded, -1 stale, otherwise the number of the refused charge, from 1. `nil` if all items
        /// are recorded.
        let verdicts: [Int32]?
        /// For each counter, its use after the call; `nil` if the counters were not read.
        let uses: [Int64]?
        /// For each quota, the seconds until its next period.
        let resetsIn: [Int32?]?
        /// Seconds by which the database's clock is ahead; `nil` if the difference is allowed. Otherwise nothing was
        /// recorded.
        var ahead: Double?
    }

    /// A batch with the clock, as sent to the database.
    typealias Call = (batch: RecordBatch, clock: LedgerClock)

    /// The statement that writes the batch to the ledger.
    var statement: Statement<Call, Answer> {
        entries.count == 1 && chargeSlots.count <= 1 ? Self.recordOne : Self.record
    }

    /// Writes any number of items to the ledger.
    static let record = Statement<Call, Answer>(
        """
        SELECT verdicts, uses, resets_in, ahead FROM record_issuances(
            $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23,
            $24, $25, $26, $27, $28, $29, $30, $31, $32, $33, $34, $35, $36
        )
        """
    ) { call, parameters throws(PostgresError) in
        try call.batch.write(sentAt: call.clock, to: &parameters)
    } decode: { row throws(PostgresError) in
        Answer(
            verdicts: try row.decode(0), uses: try row.decode(1), resetsIn: try row.decode(2), ahead: try row.decode(3))
    }

    /// Writes one item that charges at most one quota, at a third of the cost of ``record``.
    static let recordOne = Statement<Call, Answer>(
        """
        SELECT record_issuance(
            $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24, $25,
            $26, $27
        )
        """
    ) { call, parameters throws(PostgresError) in
        guard let proposal = call.batch.entries.first?.proposal else { return }
        try call.clock.write(to: &parameters)
        try proposal.writeRow(to: &parameters)
        try proposal.writeCharge(to: &parameters)
    } decode: { row throws(PostgresError) in
        let numbers = try row.decode(0, as: [Int64?].self)
        guard let verdict = numbers.first?.flatMap({ Int32(exactly: $0) }) else {
            throw .decoding(column: 0, reason: "no verdict")
        }
        if verdict == -2, numbers.count == 2, let milliseconds = numbers[1] {
            return Answer(verdicts: nil, uses: nil, resetsIn: nil, ahead: Double(milliseconds) / 1000)
        }
        guard numbers.count == 3 else { return Answer(verdicts: [verdict], uses: nil, resetsIn: nil) }
        return Answer(
            verdicts: [verdict], uses: numbers[1].map { [$0] } ?? [],
            resetsIn: numbers[1] == nil ? [] : [numbers[2].flatMap { Int32(exactly: $0) }])
    }
}

// MARK: - Several

extension RecordBatch {
    /// Adds the parameters of ``record``.
    func write(sentAt clock: LedgerClock, to parameters: inout PostgresParameters) throws(PostgresError) {
        try clock.write(to: &parameters)
        try writeProofs(to: &parameters)
        try writeRows(to: &parameters)
        try writeQuotas(to: &parameters)
        try writeCharges(to: &parameters)
    }

    /// Adds the parameters that prove the decisions: six arrays.
    private func writeProofs(to parameters: inout PostgresParameters) throws(PostgresError) {
        var positions: [PolicyPosition] = []
        var itemPositions: [Int32] = []
        itemPositions.reserveCapacity(entries.count)
        for entry in entries {
            // Neighbours mostly rest on the same position. The position of others may appear twice.
            let position = entry.proposal.position.toProve
            if position != positions.last { positions.append(position) }
            itemPositions.append(Int32(positions.count))
        }
        try parameters.appendArray(of: .int8, count: positions.count) { parameters throws(PostgresError) in
            for position in positions { parameters.add(position.sequence) }
        }
        try parameters.appendArray(of: .uuid, count: positions.count) { parameters throws(PostgresError) in
            for position in positions { parameters.add(position.tag) }
        }
        try writeScopes(itemPositions, to: &parameters)
    }

    private func writeScopes(
        _ itemPositions: [Int32], to parameters: inout PostgresParameters
    ) throws(PostgresError) {
        var scopes: [String] = []
        var references: [Int32] = []
        var ends: [Int32] = []
        references.reserveCapacity(entries.count * 5)
        ends.reserveCapacity(entries.count)
        // Neighbours mostly share bucket and credential, at the same places. Other scopes may appear twice.
        var previous = 0..<0
        for entry in entries {
            let start = references.count
            for (place, scope) in entry.proposal.scopes.enumerated() {
                if place < previous.count {
                    let known = references[previous.lowerBound + place]
                    if scopes[Int(known) - 1].isSameBytes(as: scope.rawValue) {
                        references.append(known)
                        continue
                    }
                }
                scopes.append(scope.rawValue)
                references.append(Int32(scopes.count))
            }
            previous = start..<references.count
            ends.append(Int32(references.count))
        }
        try parameters.appendArray(of: .text, count: scopes.count) { parameters throws(PostgresError) in
            for scope in scopes { try parameters.add(scope) }
        }
        for numbers in [itemPositions, ends, references] {
            try parameters.appendArray(of: .int4, count: numbers.count) { parameters throws(PostgresError) in
                for number in numbers { parameters.add(number) }
            }
        }
    }

    /// Adds the rows: one array for each column, in the columns' order.
    private func writeRows(to parameters: inout PostgresParameters) throws(PostgresError) {
        try appendIdentifiers(to: &parameters) { $0.proposal.id }
        try appendTexts(to: &parameters) { $0.proposal.principal.rawValue }
        try appendTexts(to: &parameters) { $0.proposal.matchedPrincipal.rawValue }
        try appendIdentifiers(to: &parameters) { $0.proposal.grantID }
        try appendIdentifiers(to: &parameters) { $0.proposal.credentialID }
        try appendTexts(to: &parameters) { $0.proposal.delivery.rawValue }
        try appendTexts(to: &parameters) { $0.proposal.actionText }
        try appendTexts(to: &parameters) { $0.proposal.method }
        try appendTexts(to: &parameters) { $0.proposal.bucket.rawValue }
        try appendTexts(to: &parameters) { $0.proposal.key.rawValue }
        try parameters.appendArray(of: .timestamptz, count: entries.count) { parameters throws(PostgresError) in
            for entry in entries { try parameters.add(entry.proposal.expiresAt) }
        }
        try appendTexts(to: &parameters) { $0.proposal.contentType }
        try parameters.appendArray(of: .bytea, count: entries.count) { parameters throws(PostgresError) in
            for entry in entries {
                if let digests = ContentDigests.column(of: entry.proposal) {
                    parameters.add(digests)
                } else {
                    parameters.addNull()
                }
            }
        }
        try parameters.appendArray(of: .int8, count: entries.count) { parameters throws(PostgresError) in
            for entry in entries {
                if let length = entry.proposal.contentLength { parameters.add(length) } else { parameters.addNull() }
            }
        }
        try appendTexts(to: &parameters) { $0.proposal.requestID }
    }

    /// Adds a column of identifiers. With entries instead of their proposals, none is copied for each of its columns.
    @inline(__always)
    private func appendIdentifiers(
        to parameters: inout PostgresParameters, _ value: (LedgerEntry) -> UUID
    ) throws(PostgresError) {
        try parameters.appendArray(of: .uuid, count: entries.count) { parameters throws(PostgresError) in
            for entry in entries { parameters.add(value(entry)) }
        }
    }

    /// Adds a column of texts.
    @inline(__always)
    private func appendTexts(
        to parameters: inout PostgresParameters, _ value: (LedgerEntry) -> String?
    ) throws(PostgresError) {
        try parameters.appendArray(of: .text, count: entries.count) { parameters throws(PostgresError) in
            for entry in entries {
                if let text = value(entry) { try parameters.add(text) } else { parameters.addNull() }
            }
        }
    }

    /// Adds quotas and counters: eight arrays, and whether to admit the items one by one.
    private func writeQuotas(to parameters: inout PostgresParameters) throws(PostgresError) {
        try parameters.appendArray(of: .uuid, count: quotas.count) { parameters throws(PostgresError) in
            for quota in quotas { parameters.add(quota.id) }
        }
        try parameters.appendArray(of: .text, count: quotas.count) { parameters throws(PostgresError) in
            for quota in quotas { try parameters.add(quota.period.rawValue) }
        }
        try parameters.appendArray(of: .bool, count: quotas.count) { parameters throws(PostgresError) in
            for quota in quotas { parameters.add(quota.sharing == .shared) }
        }
        try parameters.appendArray(of: .bool, count: quotas.count) { parameters throws(PostgresError) in
            for quota in quotas { parameters.add(quota.metric == .bytes) }
        }
        try parameters.appendArray(of: .int8, count: quotas.count) { parameters throws(PostgresError) in
            for quota in quotas { parameters.add(quota.limit) }
        }
        var ends = Array(repeating: Int32(0), count: quotas.count)
        for (index, slot) in slots.enumerated() { ends[slot.quota] = Int32(index + 1) }
        try parameters.appendArray(of: .int4, count: ends.count) { parameters throws(PostgresError) in
            for end in ends { parameters.add(end) }
        }
        try parameters.appendArray(of: .text, count: slots.count) { parameters throws(PostgresError) in
            for slot in slots { try parameters.add(slot.holder.rawValue) }
        }
        try parameters.appendArray(of: .int8, count: slots.count) { parameters throws(PostgresError) in
            for slot in slots { parameters.add(slot.amount) }
        }
        try isOneByOne.encode(into: &parameters)
    }

    /// Adds charges: four arrays.
    private func writeCharges(to parameters: inout PostgresParameters) throws(PostgresError) {
        try parameters.appendArray(of: .int4, count: entries.count + 1) { parameters throws(PostgresError) in
            var end: Int32 = 0
            parameters.add(end)
            for entry in entries {
                end += Int32(entry.proposal.charges.count)
                parameters.add(end)
            }
        }
        try parameters.appendArray(of: .uuid, count: chargeSlots.count) { parameters throws(PostgresError) in
            for slot in chargeSlots { parameters.add(quotas[slots[Int(slot)].quota].id) }
        }
        try parameters.appendArray(of: .int4, count: chargeSlots.count) { parameters throws(PostgresError) in
            for slot in chargeSlots { parameters.add(slot + 1) }
        }
        try parameters.appendArray(of: .int8, count: chargeSlots.count) { parameters throws(PostgresError) in
            for entry in entries {
                for charge in entry.proposal.charges { parameters.add(charge.amount) }
            }
        }
    }
}

// MARK: - One

extension IssuanceProposal {
    /// The actions in the form that the ledger holds: separated by a comma.
    var actionText: String {
        furtherActions.reduce(action.rawValue) { $0 + "," + $1.rawValue }
    }

    /// Adds the proof and the row's columns, one parameter each.
    fileprivate func writeRow(to parameters: inout PostgresParameters) throws(PostgresError) {
        let position = self.position.toProve
        try position.sequence.encode(into: &parameters)
        try position.tag.encode(into: &parameters)
        try parameters.appendArray(of: .text, count: scopes.count) { parameters throws(PostgresError) in
            for scope in scopes { try parameters.add(scope.rawValue) }
        }
        try id.encode(into: &parameters)
        try principal.rawValue.encode(into: &parameters)
        try matchedPrincipal.rawValue.encode(into: &parameters)
        try grantID.encode(into: &parameters)
        try credentialID.encode(into: &parameters)
        try delivery.rawValue.encode(into: &parameters)
        try actionText.encode(into: &parameters)
        try method.encode(into: &parameters)
        try bucket.rawValue.encode(into: &parameters)
        try key.rawValue.encode(into: &parameters)
        try expiresAt.encode(into: &parameters)
        try contentType.encode(into: &parameters)
        try ContentDigests.column(of: self).encode(into: &parameters)
        try contentLength.encode(into: &parameters)
        try requestID.encode(into: &parameters)
    }

    /// Adds the only charge, or NULLs if there is none.
    fileprivate func writeCharge(to parameters: inout PostgresParameters) throws(PostgresError) {
        let charge = charges.first
        try (charge?.quota.id).encode(into: &parameters)
        try (charge?.holder.rawValue).encode(into: &parameters)
        try (charge?.quota.period.rawValue).encode(into: &parameters)
        try charge.map { $0.quota.sharing == .shared }.encode(into: &parameters)
        try (charge?.amount).encode(into: &parameters)
        try (charge?.quota.limit).encode(into: &parameters)
        try charge.map { $0.quota.metric == .bytes }.encode(into: &parameters)
    }
}
