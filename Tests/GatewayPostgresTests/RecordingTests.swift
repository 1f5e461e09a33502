import Foundation
import GatewayCore
import LibPQ
import PostgresTesting
import Testing

@testable import GatewayPostgres

/// Every verdict of the function that records, through the ledger.
@Suite struct RecordingTests {
    @Test(.database(.migrated)) func writesEveryColumnOfARecordedIssuance() async throws {
        try await withLedger(TestDatabase.current.connectionString) { ledger, connection in
            let quota = Quota.sample(limit: 10)
            let proposal = try IssuanceProposal.sample(
                at: await connection.position(), action: .putObject, charges: [quota.charge(2)])
            let verdict = try await ledger.record(proposal, deadline: .soon)
            guard case .recorded(let remaining) = verdict else {
                Issue.record("\(verdict)")
                return
            }
            #expect(remaining.map(\.remaining) == [8])
            #expect(remaining.map(\.quotaID) == [quota.id])
            #expect((1...86_400).contains(remaining[0].resetsIn ?? 0))
            let rows = try await connection.execute(Self.readIssuances)
            #expect(rows == [Self.row(proposal, quotas: [quota.id], amounts: [2])])
        }
    }

    /// One item and several take different ways into the table.
    @Test(.database(.migrated)) func writesEveryColumnOfABatch() async throws {
        let connection = try PostgresConnection(testing: TestDatabase.current.connectionString)
        let quotas = [Quota.sample(limit: 10), Quota.sample(limit: 10, metric: .bytes)]
        let position = try await connection.position()
        let proposals = [
            try IssuanceProposal.sample(at: position, charges: [quotas[0].charge()]),
            try .sample(at: position, principal: "user:bob"),
            try .sample(
                at: position, action: .putObject, charges: [quotas[1].charge(3), quotas[0].charge(2)]),
        ]
        _ = try await connection.execute(RecordBatch.record, RecordBatch(proposals))
        let rows = try await connection.execute(Self.readIssuances)
        let expected = proposals.map { proposal in
            Self.row(proposal, quotas: proposal.charges.map(\.quota.id), amounts: proposal.charges.map(\.amount))
        }
        #expect(rows.sorted() == expected.sorted())
        let reserved = try await connection.number(
            "SELECT count(*) FROM reservations WHERE issuance_id = '\(proposals[2].id)' AND amount = 3")
        #expect(reserved == 1)
    }

    @Test(.database(.migrated)) func recordsWithoutQuotas() async throws {
        try await withLedger(TestDatabase.current.connectionString) { ledger, connection in
            let proposal = try IssuanceProposal.sample(at: await connection.position())
            #expect(try await ledger.record(proposal, deadline: .soon) == .recorded(remaining: []))
            let rows = try await connection.execute(Self.readIssuances)
            #expect(rows == [Self.row(proposal, quotas: [], amounts: [])])
            #expect(try await connection.number("SELECT count(*) FROM quota_usage") == 0)
        }
    }

    @Test(.database(.migrated)) func isStaleWhereAScopeChangedAndOnlyThere() async throws {
        try await withLedger(TestDatabase.current.connectionString) { ledger, connection in
            let position = try await connection.position()
            try await connection.append(scopes: ["user:bob", "bucket:demo"])
            let alice = try IssuanceProposal.sample(at: position)
            let bob = try IssuanceProposal.sample(at: position, principal: "user:bob")
            let inBucket = try IssuanceProposal.sample(at: position, scopes: ["user:alice", "bucket:demo"])
            #expect(try await ledger.record(alice, deadline: .soon) == .recorded(remaining: []))
            #expect(try await ledger.record(bob, deadline: .soon) == .stale)
            #expect(try await ledger.record(inBucket, deadline: .soon) == .stale)
            #expect(try await connection.number("SELECT count(*) FROM issuances") == 1)
        }
    }

    @Test(.database(.migrated)) func isStaleAfterAChangeOfEverything() async throws {
        try await withLedger(TestDatabase.current.connectionString) { ledger, connection in
            let position = try await connection.position()
            // Above 1,000 scopes the log says "all".
            try await connection.append(scopes: (0...1000).map { "user:\($0)" })
            let alice = try IssuanceProposal.sample(at: position)
            #expect(try await ledger.record(alice, deadline: .soon) == .stale)
            let again = try IssuanceProposal.sample(at: await connection.position())
            #expect(try await ledger.record(again, deadline: .soon) == .recorded(remaining: []))
        }
    }

    @Test(.database(.migrated)) func isStaleAtAPositionThatIsNotInTheLog() async throws {
        try await withLedger(TestDatabase.current.connectionString) { ledger, connection in
            let position = try await connection.position()
            let otherTag = PolicyPosition(sequence: position.sequence, tag: UUID())
            let future = PolicyPosition(sequence: position.sequence + 1, tag: position.tag)
            for unknown in [otherTag, future] {
                let proposal = try IssuanceProposal.sample(at: unknown)
                #expect(try await ledger.record(proposal, deadline: .soon) == .stale)
            }
            #expect(try await connection.number("SELECT count(*) FROM issuances") == 0)
        }
    }

    @Test(.database(.migrated)) func judgesEachItemOfABatchByItsOwnPositionAndScopes() async throws {
        let connection = try PostgresConnection(testing: TestDatabase.current.connectionString)
        let old = try await connection.position()
        try await connection.append(scopes: ["user:bob"])
        let new = try await connection.position()
        let lost = PolicyPosition(sequence: new.sequence, tag: UUID())
        let proposals = [
            try IssuanceProposal.sample(at: old), try .sample(at: old, principal: "user:bob"),
            try .sample(at: new, principal: "user:bob"), try .sample(at: lost, principal: "user:carol"),
            try .sample(at: new, principal: "user:carol"),
        ]
        let answers = try await connection.execute(RecordBatch.record, RecordBatch(proposals))
        #expect(answers.first?.verdicts == [0, -1, 0, -1, 0])
        #expect(try await connection.number("SELECT count(*) FROM issuances") == 3)
    }

    /// A position that a failover has lost must not pass because the batch holds an older one that is known.
    @Test(.database(.migrated)) func provesEveryPositionOfABatch() async throws {
        let connection = try PostgresConnection(testing: TestDatabase.current.connectionString)
        let old = try await connection.position()
        try await connection.append(scopes: ["user:nobody"])
        let lost = PolicyPosition(sequence: old.sequence + 1, tag: UUID())
        let proposals = [try IssuanceProposal.sample(at: old), try .sample(at: lost, principal: "user:bob")]
        let answers = try await connection.execute(RecordBatch.record, RecordBatch(proposals))
        #expect(answers.first?.verdicts == [0, -1])
    }

    @Test(.database(.migrated)) func takesAllQuotasOrNoneInTheOrderOfRequests() async throws {
        let connection = try PostgresConnection(testing: TestDatabase.current.connectionString)
        let position = try await connection.position()
        let wide = Quota.sample(limit: 10)
        let narrow = Quota.sample(limit: 3, principal: try Principal("group:team"), sharing: .shared)
        let proposals = try [2, 2, 1].map { amount in
            try IssuanceProposal.sample(at: position, charges: [wide.charge(amount), narrow.charge(amount)])
        }
        let answer = try #require(try await connection.execute(RecordBatch.record, RecordBatch(proposals)).first)
        // The second would need 4 of 3; the third still fits.
        #expect(answer.verdicts == [0, 4, 0])
        #expect(answer.remaining[0] == 8)
        #expect(answer.remaining[1] == 1)
        #expect(answer.remaining[4] == 7)
        #expect(answer.remaining[5] == 0)
        #expect(
            try await connection.number("SELECT string_agg(used::text, '' ORDER BY shared) FROM quota_usage") == 33)
        #expect(try await connection.number("SELECT count(*) FROM issuances") == 2)
    }

    @Test(.database(.migrated)) func namesTheQuotaThatRefuses() async throws {
        try await withLedger(TestDatabase.current.connectionString) { ledger, connection in
            let position = try await connection.position()
            let open = Quota.sample(limit: 5)
            let full = Quota.sample(limit: 0, period: .total)
            let proposal = try IssuanceProposal.sample(at: position, charges: [open.charge(), full.charge()])
            let refusal = QuotaRefusal(
                quotaID: full.id.uuidString.lowercased(), metric: .urls, period: .total, limit: 0, remaining: 0,
                resetsIn: nil)
            #expect(try await ledger.record(proposal, deadline: .soon) == .quotaExceeded(refusal))
            #expect(try await connection.number("SELECT count(*) FROM issuances") == 0)
            #expect(try await connection.number("SELECT sum(used) FROM quota_usage") == 0)
        }
    }

    @Test(.database(.migrated)) func reservesBytes() async throws {
        try await withLedger(TestDatabase.current.connectionString) { ledger, connection in
            let quota = Quota.sample(limit: 1000, metric: .bytes)
            let proposals = try [600, 600, 400, 0].map { amount in
                try IssuanceProposal.sample(
                    at: PolicyPosition(sequence: 1, tag: UUID()), action: .putObject, charges: [quota.charge(amount)])
            }
            let position = try await connection.position()
            var admitted: [Bool] = []
            for var proposal in proposals {
                proposal.position = position
                if case .recorded = try await ledger.record(proposal, deadline: .soon) {
                    admitted.append(true)
                } else {
                    admitted.append(false)
                }
            }
            #expect(admitted == [true, false, true, true])
            #expect(try await connection.number("SELECT used FROM quota_usage") == 1000)
            #expect(try await connection.number("SELECT sum(amount) FROM reservations") == 1000)
            #expect(try await connection.number("SELECT count(*) FROM reservations") == 2)
        }
    }

    @Test(.database(.migrated), arguments: Quota.Period.allCases)
    func beginsPeriodsInUTC(_ period: Quota.Period) async throws {
        let connection = try PostgresConnection(
            testing: TestDatabase.current.connectionString, settings: [("TimeZone", "Asia/Kathmandu")])
        let quota = Quota.sample(limit: 5, period: period)
        let proposal = try IssuanceProposal.sample(
            at: await connection.position(), charges: [quota.charge()])
        let answer = try #require(try await connection.execute(RecordBatch.record, RecordBatch([proposal])).first)
        let isRight = try await connection.number(
            """
            SELECT count(*) FROM quota_usage u, issuances i
            WHERE u.period_start = CASE WHEN '\(period.rawValue)' = 'total' THEN to_timestamp(0)
                ELSE date_trunc('\(period.rawValue.replacing("total", with: "day"))', i.issued_at, 'UTC') END
            """)
        #expect(isRight == 1)
        let longest: [Quota.Period: Int32] = [.minute: 60, .hour: 3600, .day: 86_400, .month: 31 * 86_400]
        let resetsIn = try #require(answer.resetsIn.first)
        if let longest = longest[period] {
            #expect((1...longest).contains(resetsIn ?? 0))
        } else {
            #expect(resetsIn == nil)
        }
    }

    @Test(.database(.migrated)) func refusesEveryIsolationButReadCommitted() async throws {
        let connection = try PostgresConnection(testing: TestDatabase.current.connectionString)
        let batch = RecordBatch([try .sample(at: await connection.position())])
        for isolation in [IsolationLevel.repeatableRead, .serializable] {
            await #expect(throws: PostgresError.self) {
                try await connection.withTransaction(isolation: isolation) { transaction in
                    try transaction.execute(RecordBatch.record, batch).count
                }
            }
        }
        #expect(try await connection.number("SELECT count(*) FROM issuances") == 0)
    }
}

extension RecordingTests {
    /// A row of the ledger as text, without the instant.
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
        let seconds = (proposal.expiresAt.timeIntervalSince1970 * 1000).rounded() / 1000
        let md5 = proposal.contentMD5.map { $0.map { $0 < 16 ? "0\($0)" : "\($0)" }.joined() }
        let columns: [String?] = [
            proposal.id.uuidString.lowercased(), "\(proposal.position.sequence)", proposal.principal.rawValue,
            proposal.matchedPrincipal.rawValue, proposal.grantID.uuidString.lowercased(),
            proposal.credentialID.uuidString.lowercased(), proposal.delivery.rawValue, proposal.action.rawValue,
            proposal.method, proposal.bucket.rawValue, proposal.key.rawValue, String(format: "%.3f", seconds),
            proposal.contentType, md5, proposal.contentLength.map { "\($0)" }, proposal.requestID,
            "{\(quotas.map { $0.uuidString.lowercased() }.joined(separator: ","))}",
            "{\(amounts.map { "\($0)" }.joined(separator: ","))}",
        ]
        return columns.compactMap { $0 }.joined(separator: "|")
    }
}
