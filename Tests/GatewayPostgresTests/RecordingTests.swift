import Foundation
import GatewayCore
import LibPQ
import PostgresTesting
import Testing

@testable import GatewayPostgres

/// Every verdict of the recording functions.
@Suite struct RecordingTests {
    private static func connect() throws -> PostgresConnection {
        try PostgresConnection(testing: TestDatabase.current.connectionString)
    }

    @Test(.database(.migrated), arguments: RecordingFunction.allCases)
    func writesEveryColumnOfARecordedIssuance(_ function: RecordingFunction) async throws {
        let connection = try Self.connect()
        let quota = Quota.sample(limit: 10)
        let position = try await connection.position()
        let proposals = [
            try IssuanceProposal.sample(at: position, action: .putObject, charges: [quota.charge(2)]),
            try .sample(at: position, charges: [quota.charge(1)]),
        ]
        let verdicts = try await connection.record(proposals, by: function)
        #expect(verdicts.map(\.remaining) == [[8], [7]])
        guard case .recorded(let remaining) = verdicts[0] else { return }
        #expect(remaining.map(\.quotaID) == [quota.id])
        #expect((1...86_400).contains(remaining[0].resetsIn ?? 0))
        let rows = try await connection.execute(Self.readIssuances)
        let expected = [
            Self.row(proposals[0], quotas: [quota.id], amounts: [2]),
            Self.row(proposals[1], quotas: [quota.id], amounts: [1]),
        ]
        #expect(rows.sorted() == expected.sorted())
    }

    @Test(.database(.migrated), arguments: RecordingFunction.allCases)
    func writesDigestsThatAreReadAgain(_ function: RecordingFunction) async throws {
        let connection = try Self.connect()
        let proposal = try IssuanceProposal.sample(at: try await connection.position(), action: .putObject)
            .with(contentSHA256: [UInt8](repeating: 9, count: 32), signsPayload: true)
        _ = try await connection.record([proposal], by: function)
        let columns = try await connection.execute(
            Statement<Void, [UInt8]>("SELECT content_md5::bytea FROM issuances") { row throws(PostgresError) in
                try row.decode(0)
            })
        let read = ContentDigests(columns.first)
        #expect(read.md5 == proposal.contentMD5 && read.sha256 == proposal.contentSHA256 && read.signsPayload)
    }

    /// A ledger sends a single proposal to one function, and gathered proposals to the other.
    @Test(.database(.migrated)) func writesEveryColumnThroughTheLedger() async throws {
        try await withLedger(TestDatabase.current.connectionString) { ledger, connection in
            let quotas = [Quota.sample(limit: 10), Quota.sample(limit: 10, period: .total)]
            let position = try await connection.position()
            let charges = try quotas.map { try $0.charge() }
            let proposals = try [[], [charges[0]], charges].map { charges in
                try IssuanceProposal.sample(at: position, charges: charges)
            }
            var remaining: [[Int64]] = []
            for proposal in proposals {
                remaining.append(try await ledger.record(proposal, deadline: .soon).remaining)
            }
            #expect(remaining == [[], [9], [8, 9]])
            let together = await ledger.record(proposals.map(\.again), deadline: .soon)
            #expect(try together.map { try $0.get().remaining } == [[], [7], [6, 8]])
            let rows = try await connection.execute(Self.readIssuances)
            let expected = proposals.map { proposal in
                Self.row(proposal, quotas: proposal.charges.map(\.quota.id), amounts: proposal.charges.map(\.amount))
            }
            #expect(rows.filter { expected.contains($0) }.count == 3 && rows.count == 6)
        }
    }

    @Test(.database(.migrated)) func writesEveryColumnOfABatch() async throws {
        let connection = try Self.connect()
        let quotas = [Quota.sample(limit: 10), Quota.sample(limit: 10, metric: .bytes)]
        let position = try await connection.position()
        let proposals = [
            try IssuanceProposal.sample(at: position, charges: [quotas[0].charge()]),
            try .sample(at: position, principal: "user:bob"),
            try .sample(
                at: position, matched: .anyone, action: .putObject,
                charges: [quotas[1].charge(3), quotas[0].charge(2)]),
        ]
        let verdicts = try await connection.record(proposals)
        #expect(verdicts.map(\.remaining) == [[9], [], [7, 7]])
        let rows = try await connection.execute(Self.readIssuances)
        let expected = proposals.map { proposal in
            Self.row(proposal, quotas: proposal.charges.map(\.quota.id), amounts: proposal.charges.map(\.amount))
        }
        #expect(rows.sorted() == expected.sorted())
        let reserved = try await connection.texts(
            """
            SELECT concat_ws(' ', r.issuance_id, r.quota_id, r.holder, r.amount, r.object_key,
                r.period_start = date_trunc('day', i.issued_at, 'UTC'),
                r.dead_at BETWEEN i.expires_at AND i.expires_at + interval '5 seconds', r.check_at = r.dead_at)
            FROM reservations r JOIN issuances i ON i.id = r.issuance_id
            """)
        #expect(
            reserved == [
                "\(proposals[2].id.lowercaseText) \(quotas[1].id.lowercaseText) user:alice 3 "
                    + "users/alice/photo é.jpg t t t"
            ])
        #expect(try await connection.number(Self.differingReservations) == 0)
    }

    /// Counts reservations whose copies of an issuance's columns differ from them.
    private static let differingReservations = """
        SELECT count(*) FROM reservations r JOIN issuances i ON i.id = r.issuance_id
        WHERE (r.issued_at, r.policy_seq, r.principal, r.matched_principal, r.grant_id, r.credential_id, r.delivery, r.action,
                r.bucket, r.object_key)
            IS DISTINCT FROM
            (i.issued_at, i.policy_seq, i.principal, i.matched_principal, i.grant_id, i.credential_id, i.delivery::text,
                i.action::text, i.bucket, i.object_key)
        """

    @Test(.database(.migrated), arguments: RecordingFunction.allCases)
    func recordsWithoutQuotas(_ function: RecordingFunction) async throws {
        let connection = try Self.connect()
        let proposal = try IssuanceProposal.sample(at: await connection.position())
        #expect(try await connection.record([proposal], by: function) == [.recorded(remaining: [])])
        let rows = try await connection.execute(Self.readIssuances)
        #expect(rows == [Self.row(proposal, quotas: [], amounts: [])])
        #expect(try await connection.number("SELECT count(*) FROM quota_usage") == 0)
    }

    @Test(.database(.migrated), arguments: RecordingFunction.allCases)
    func isStaleWhereAScopeChangedAndOnlyThere(_ function: RecordingFunction) async throws {
        let connection = try Self.connect()
        let position = try await connection.position()
        try await connection.append(scopes: ["user:bob", "bucket:demo"])
        let quota = Quota.sample(limit: 10)
        let alice = try IssuanceProposal.sample(at: position, charges: [quota.charge()])
        let bob = try IssuanceProposal.sample(
            at: position, principal: "user:bob", charges: [quota.charge(by: "user:bob")])
        let inBucket = try IssuanceProposal.sample(
            at: position, scopes: ["user:alice", "bucket:demo"], charges: [quota.charge()])
        for proposal in [bob, inBucket] {
            #expect(try await connection.record([proposal], by: function) == [.stale])
        }
        let verdicts = try await connection.record([inBucket, alice, bob], by: function)
        #expect(verdicts.map(\.isRecorded) == [false, true, false] && verdicts[0] == .stale && verdicts[2] == .stale)
        #expect(verdicts[1].remaining == [9])
        #expect(try await connection.number("SELECT count(*) FROM issuances") == 1)
        #expect(try await connection.number("SELECT sum(used) FROM quota_usage") == 1)
    }

    @Test(.database(.migrated), arguments: RecordingFunction.allCases)
    func isStaleAfterAChangeOfEverything(_ function: RecordingFunction) async throws {
        let connection = try Self.connect()
        let position = try await connection.position()
        // Above 1,000 scopes the log says "all".
        try await connection.append(scopes: (0...1000).map { "user:\($0)" })
        let alice = try IssuanceProposal.sample(at: position)
        #expect(try await connection.record([alice], by: function) == [.stale])
        let again = try IssuanceProposal.sample(at: await connection.position())
        #expect(try await connection.record([again], by: function) == [.recorded(remaining: [])])
    }

    /// A number that another server issued before a failover, a future number, and a number that the log has passed.
    @Test(.database(.migrated), arguments: RecordingFunction.allCases)
    func isStaleAtAPositionThatIsNotInTheLog(_ function: RecordingFunction) async throws {
        let connection = try Self.connect()
        let position = try await connection.position()
        let otherTag = PolicyPosition(sequence: position.sequence, tag: UUID())
        let future = PolicyPosition(sequence: position.sequence + 1, tag: position.tag)
        for unknown in [otherTag, future] {
            let proposal = try IssuanceProposal.sample(at: unknown)
            #expect(try await connection.record([proposal], by: function) == [.stale])
        }
        try await connection.append(scopes: ["user:nobody"])
        let overtaken = try IssuanceProposal.sample(at: otherTag)
        #expect(try await connection.record([overtaken], by: function) == [.stale])
        #expect(try await connection.number("SELECT count(*) FROM issuances") == 0)
    }

    /// The log of the server that took over has the position too.
    @Test(.database(.migrated), arguments: RecordingFunction.allCases)
    func `is stale at a position of a history that has ended`(_ function: RecordingFunction) async throws {
        let connection = try Self.connect()
        let position = try await connection.position()
        let (lost, present) = (DatabaseHistory(), DatabaseHistory())
        let proposals = try [present, lost, present, lost].map { history in
            try IssuanceProposal.sample(
                at: PolicyPosition(sequence: position.sequence, tag: position.tag, in: history))
        }
        lost.end()
        let verdicts = try await connection.record(proposals, by: function)
        #expect(verdicts.map(\.isRecorded) == [true, false, true, false])
        #expect(verdicts[1] == .stale && verdicts[3] == .stale)
        #expect(try await connection.number("SELECT count(*) FROM issuances") == 2)
    }

    @Test(.database(.migrated)) func judgesEachItemOfABatchByItsOwnPositionAndScopes() async throws {
        let connection = try Self.connect()
        let old = try await connection.position()
        try await connection.append(scopes: ["user:bob"])
        let new = try await connection.position()
        let lost = PolicyPosition(sequence: new.sequence, tag: UUID())
        let proposals = [
            try IssuanceProposal.sample(at: old), try .sample(at: old, principal: "user:bob"),
            try .sample(at: new, principal: "user:bob"), try .sample(at: lost, principal: "user:carol"),
            try .sample(at: new, principal: "user:carol"),
        ]
        let verdicts = try await connection.record(proposals)
        #expect(verdicts.map(\.isRecorded) == [true, false, true, false, true])
        #expect(verdicts[1] == .stale && verdicts[3] == .stale)
        #expect(try await connection.number("SELECT count(*) FROM issuances") == 3)
    }

    /// A position lost in a failover must not pass because the batch also contains a known one.
    @Test(.database(.migrated), arguments: [false, true])
    func provesEveryPositionOfABatch(_ isLatest: Bool) async throws {
        let connection = try Self.connect()
        let old = try await connection.position()
        if !isLatest { try await connection.append(scopes: ["user:nobody"]) }
        let lost = PolicyPosition(sequence: old.sequence + (isLatest ? 0 : 1), tag: UUID())
        let proposals = [
            try IssuanceProposal.sample(at: old), try .sample(at: lost, principal: "user:bob"), try .sample(at: old),
        ]
        #expect(try await connection.record(proposals).map(\.isRecorded) == [true, false, true])
    }

    @Test(.database(.migrated)) func takesAllQuotasOrNoneInTheOrderOfRequests() async throws {
        let connection = try Self.connect()
        let position = try await connection.position()
        let wide = Quota.sample(limit: 10)
        let narrow = Quota.sample(limit: 3, principal: try Principal("group:team"), sharing: .shared)
        let proposals = try [2, 2, 1].map { amount in
            try IssuanceProposal.sample(at: position, charges: [wide.charge(amount), narrow.charge(amount)])
        }
        let verdicts = try await connection.record(proposals)
        // The second would need 4 of 3; the third still fits.
        #expect(verdicts.map(\.remaining) == [[8, 1], [], [7, 0]])
        #expect(verdicts[1].refusal?.quotaID == narrow.id.lowercaseText && verdicts[1].refusal?.remaining == 1)
        #expect(
            try await connection.number("SELECT string_agg(used::text, '' ORDER BY shared) FROM quota_usage") == 33)
        #expect(try await connection.number("SELECT count(*) FROM issuances") == 2)
    }

    /// Counters with and without room for all, new and used ones, in one batch.
    @Test(.database(.migrated)) func servesWhoComesFirstWhereNotAllFit() async throws {
        let connection = try Self.connect()
        let position = try await connection.position()
        let quota = Quota.sample(limit: 5)
        let other = Quota.sample(limit: 100, period: .hour, sharing: .shared)
        func proposal(_ user: String, _ amount: Int64) throws -> IssuanceProposal {
            try .sample(
                at: position, principal: user,
                charges: [quota.charge(amount, by: user), other.charge(amount, by: user)])
        }
        _ = try await connection.record([proposal("user:a", 3), proposal("user:c", 5), proposal("user:d", 1)])
        let verdicts = try await connection.record([
            proposal("user:b", 4), proposal("user:a", 2), proposal("user:c", 1), proposal("user:d", 2),
            proposal("user:b", 2), proposal("user:a", 1), proposal("user:b", 1), proposal("user:e", 6),
            proposal("user:é", 5), proposal("user:d", 2),
        ])
        #expect(
            verdicts.map(\.remaining) == [
                [1, 87], [0, 85], [], [2, 83], [], [], [0, 82], [], [0, 77], [0, 75],
            ])
        #expect(verdicts.map { $0.refusal?.remaining } == [nil, nil, 0, nil, 1, 0, nil, 5, nil, nil])
        let used = try await connection.texts("SELECT holder || used FROM quota_usage WHERE NOT shared ORDER BY holder")
        #expect(used == ["user:a5", "user:b5", "user:c5", "user:d5", "user:e0", "user:é5"])
        #expect(try await connection.number("SELECT used FROM quota_usage WHERE shared") == 25)
        #expect(try await connection.number("SELECT count(*) FROM issuances") == 9)
    }

    /// Sums that exceed every number type.
    @Test(.database(.migrated), arguments: RecordingFunction.allCases)
    func refusesAmountsThatNoNumberHolds(_ function: RecordingFunction) async throws {
        let connection = try Self.connect()
        let position = try await connection.position()
        let quota = Quota.sample(limit: .max, metric: .bytes)
        let proposals = try [Int64.max - 1, 1, 1, .max].map { amount in
            try IssuanceProposal.sample(at: position, action: .putObject, charges: [quota.charge(amount)])
        }
        let verdicts = try await connection.record(proposals, by: function)
        #expect(verdicts.map(\.isRecorded) == [true, true, false, false])
        #expect(try await connection.number("SELECT used FROM quota_usage") == .max)
    }

    /// A quota that was changed between two decisions that charge the same counter.
    @Test(.database(.migrated)) func keepsToTheLimitOfEachDecision() async throws {
        let connection = try Self.connect()
        let position = try await connection.position()
        let old = Quota.sample(limit: 2)
        var new = old
        new.limit = 4
        let proposals = try [old, new, old, new, new, old, new].map { quota in
            try IssuanceProposal.sample(at: position, charges: [quota.charge()])
        }
        let verdicts = try await connection.record(proposals)
        #expect(verdicts.map(\.isRecorded) == [true, true, false, true, true, false, false])
        #expect(try await connection.number("SELECT used FROM quota_usage") == 4)
        #expect(try await connection.number("SELECT count(*) FROM issuances") == 4)
    }

    @Test(.database(.migrated), arguments: RecordingFunction.allCases)
    func namesTheQuotaThatRefuses(_ function: RecordingFunction) async throws {
        let connection = try Self.connect()
        let position = try await connection.position()
        let open = Quota.sample(limit: 5)
        let full = Quota.sample(limit: 0, period: .total)
        let charges = try function == .one ? [full.charge()] : [open.charge(), full.charge()]
        let proposal = try IssuanceProposal.sample(at: position, charges: charges)
        let refusal = QuotaRefusal(
            quotaID: full.id.uuidString.lowercased(), metric: .urls, period: .total, limit: 0, remaining: 0,
            resetsIn: nil)
        #expect(try await connection.record([proposal], by: function) == [.quotaExceeded(refusal)])
        #expect(try await connection.number("SELECT count(*) FROM issuances") == 0)
        #expect(try await connection.number("SELECT coalesce(sum(used), 0) FROM quota_usage") == 0)
    }

    @Test(.database(.migrated), arguments: RecordingFunction.allCases)
    func reservesBytes(_ function: RecordingFunction) async throws {
        let connection = try Self.connect()
        let position = try await connection.position()
        let quota = Quota.sample(limit: 1000, metric: .bytes)
        let proposals = try [600, 600, 400, 0].map { amount in
            try IssuanceProposal.sample(
                at: position, matched: .anyone, action: .putObject, charges: [quota.charge(amount)])
        }
        let verdicts = try await connection.record(proposals, by: function)
        #expect(verdicts.map(\.isRecorded) == [true, false, true, true])
        #expect(verdicts.map(\.remaining) == [[400], [], [0], [0]] && verdicts[1].refusal?.remaining == 400)
        #expect(try await connection.number("SELECT used FROM quota_usage") == 1000)
        #expect(try await connection.number("SELECT sum(amount) FROM reservations") == 1000)
        #expect(try await connection.number("SELECT count(*) FROM reservations") == 2)
        #expect(try await connection.number(Self.differingReservations) == 0)
    }

    @Test(.database(.migrated), arguments: Quota.Period.allCases, RecordingFunction.allCases)
    func beginsPeriodsInUTC(_ period: Quota.Period, _ function: RecordingFunction) async throws {
        let connection = try PostgresConnection(
            testing: TestDatabase.current.connectionString, settings: [("TimeZone", "Asia/Kathmandu")])
        let quota = Quota.sample(limit: 5, period: period)
        let proposal = try IssuanceProposal.sample(at: await connection.position(), charges: [quota.charge()])
        let verdict = try await connection.record([proposal], by: function)[0]
        let isRight = try await connection.number(
            """
            SELECT count(*) FROM quota_usage u, issuances i
            WHERE u.period_start = CASE WHEN '\(period.rawValue)' = 'total' THEN to_timestamp(0)
                ELSE date_trunc('\(period.rawValue.replacing("total", with: "day"))', i.issued_at, 'UTC') END
            """)
        #expect(isRight == 1)
        guard case .recorded(let remaining) = verdict, let resetsIn = remaining.first?.resetsIn else {
            #expect(period == .total && verdict.remaining == [4])
            return
        }
        let right = try await connection.number(
            """
            SELECT ceil(extract(epoch FROM quota_period_end('\(period.rawValue)',
                quota_period_start('\(period.rawValue)', issued_at)) - issued_at)) FROM issuances
            """)
        #expect(Int64(resetsIn) == right)
    }

    /// Rows that no decision produces; the last one is the valid example.
    @Test(.database(.migrated), arguments: RecordingFunction.allCases)
    func refusesRowsThatCannotBe(_ function: RecordingFunction) async throws {
        let connection = try Self.connect()
        let position = try await connection.position()
        let proposal = try IssuanceProposal.sample(at: position, action: .putObject)
        let changes = [
            proposal.with(method: "BREW"), proposal.with(method: "*"), proposal.with(furtherActions: [.getObject]),
            proposal.with(contentMD5: [UInt8](repeating: 7, count: 15)), proposal.with(contentLength: -1),
            proposal.with(delivery: .sts, furtherActions: [.getObject], method: "*"),
        ]
        for (index, proposal) in changes.enumerated() {
            do {
                _ = try await connection.record([proposal], by: function)
                #expect(index == changes.count - 1)
            } catch let error as PostgresError {
                #expect(error.refusesData && index < changes.count - 1, "\(error)")
            }
        }
        #expect(try await connection.number("SELECT count(*) FROM issuances") == 1)
    }

    /// Sessions permit any of the actions and bind no method; cookies of a whole bucket also list it. Everything else
    /// is for one action and one method.
    @Test(.database(.migrated), arguments: RecordingFunction.allCases)
    func recordsOfEachDeliveryWhatItMayPermit(_ function: RecordingFunction) async throws {
        let connection = try Self.connect()
        let position = try await connection.position()
        for delivery in Delivery.allCases {
            for further in [[], [Action.listObjects], [.listObjects, .deleteObject]] {
                for method in ["GET", "*"] {
                    let mayBe =
                        switch delivery {
                        case .sts: true
                        case .cdnCookies: method == "GET"
                        default: further.isEmpty && method == "GET"
                        }
                    let proposal = try IssuanceProposal.sample(at: position)
                        .with(delivery: delivery, furtherActions: further, method: method)
                    var refusal: PostgresError?
                    do {
                        _ = try await connection.record([proposal], by: function)
                    } catch let error as PostgresError {
                        refusal = error
                    }
                    #expect((refusal == nil) == mayBe, "\(delivery) \(further) \(method)")
                    #expect(refusal?.refusesData != false)
                }
            }
        }
    }

    @Test(.database(.migrated)) func anItemThatIsStaleIsNotHeldToWhatARowMayHold() async throws {
        let connection = try Self.connect()
        let position = try await connection.position()
        let stale = try IssuanceProposal.sample(
            at: PolicyPosition(sequence: position.sequence, tag: UUID()), action: .putObject
        ).with(furtherActions: [.getObject])
        let verdicts = try await connection.record([.sample(at: position), stale])
        #expect(verdicts.map(\.isRecorded) == [true, false])
        #expect(try await connection.number("SELECT count(*) FROM issuances") == 1)
    }

    /// Impossible counters, whoever writes them.
    @Test(.database(.migrated), arguments: ["used", "released", "archived"])
    func noAmountIsNegative(_ column: String) async throws {
        let connection = try Self.connect()
        let quota = Quota.sample(limit: 5)
        _ = try await connection.record([.sample(at: connection.position(), charges: [quota.charge()])])
        await #expect(throws: PostgresError.self) {
            try await connection.runScript("UPDATE quota_usage SET \(column) = -1")
        }
    }

    @Test(.database(.migrated), arguments: RecordingFunction.allCases)
    func refusesEveryIsolationButReadCommitted(_ function: RecordingFunction) async throws {
        let connection = try Self.connect()
        let batch = RecordBatch([try .sample(at: await connection.position())])
        let statement = function == .one ? RecordBatch.recordOne : RecordBatch.record
        for isolation in ["REPEATABLE READ", "SERIALIZABLE"] {
            try await connection.runScript("BEGIN ISOLATION LEVEL \(isolation)")
            await #expect(throws: PostgresError.self) { try await connection.execute(statement, (batch, .right)) }
            try await connection.runScript("ROLLBACK")
        }
        #expect(try await connection.number("SELECT count(*) FROM issuances") == 0)
    }
}

extension RecordingTests {
    /// A ledger row as text, without its instant.
    static let readIssuances = Statement<Void, String>(
        """
        SELECT concat_ws('|', id, policy_seq, principal, matched_principal, grant_id, credential_id, delivery, action,
            method, bucket, object_key, round(extract(epoch FROM expires_at), 3), content_type,
            encode(content_md5, 'hex'), content_length, request_id, coalesce(quota_ids, '{}'),
            coalesce(quota_amounts, '{}'))
        FROM issuances
        """
    ) { row throws(PostgresError) in try row.decode(0) }

    static func row(_ proposal: IssuanceProposal, quotas: [UUID], amounts: [Int64]) -> String {
        // The column holds microseconds, and PostgreSQL rounds those up from the middle of a millisecond on.
        let microseconds = Int64((proposal.expiresAt.timeIntervalSince1970 * 1_000_000).rounded())
        let milliseconds = (microseconds + 500) / 1000
        let md5 = proposal.contentMD5.map { $0.map { $0 < 16 ? "0\($0)" : "\($0)" }.joined() }
        let columns: [String?] = [
            proposal.id.uuidString.lowercased(), "\(proposal.position.sequence)", proposal.principal.rawValue,
            proposal.matchedPrincipal.rawValue, proposal.grantID.uuidString.lowercased(),
            proposal.credentialID.uuidString.lowercased(), proposal.delivery.rawValue, proposal.action.rawValue,
            proposal.method, proposal.bucket.rawValue, proposal.key.rawValue,
            String(format: "%d.%03d", milliseconds / 1000, milliseconds % 1000),
            proposal.contentType, md5, proposal.contentLength.map { "\($0)" }, proposal.requestID,
            "{\(quotas.map { $0.uuidString.lowercased() }.joined(separator: ","))}",
            "{\(amounts.map { "\($0)" }.joined(separator: ","))}",
        ]
        return columns.compactMap { $0 }.joined(separator: "|")
    }
}
