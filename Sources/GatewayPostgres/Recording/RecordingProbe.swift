import Foundation
import GatewayCore
import LibPQ

/// Does what a recording does over a connection of the ledger, and leaves no row.
struct RecordingProbe {
    let health: LaneHealth
    let clock: LedgerClock
    let schema: SchemaFit?
    let outage: Outage?

    /// What PostgreSQL's clock said at an instant; exact to half the round trip.
    struct ClockReading: Sendable {
        let server: Date
        let instant: ContinuousClock.Instant
    }

    /// How a probe ended.
    enum End {
        /// Nothing but clock and schema were looked at: recordings succeed.
        case looked
        case passed
        case failed(flaw: String)
    }

    /// What a probe does, in order.
    enum Step: Sendable {
        /// Reads the clock, and which migrations and functions were applied.
        case answer
        /// Commits something that changes no table: a standby may be waited for, or the disk.
        case commit
        /// Has a decision of long ago proved, by both functions that record.
        case proof
        /// Locks the tables of the ledger; after a recording that failed, writes and takes it back.
        case ledger
    }

    /// How long a probe may take.
    static let patience = Duration.seconds(2)

    /// Runs over a connection; what it finds is in ``health`` and ``schema``.
    func run(over connection: LoopConnection) async {
        let start = ContinuousClock.now
        let wasBroken = schema?.isBroken == true
        var step = Step.answer
        do throws(PostgresError) {
            health.reaches(step)
            if let misfit = try await look(over: connection, start) {
                schema?.breaks(misfit)
                return health.probeEnded(.looked, since: start)
            }
            let before = health.current
            let isDoubted = before.isDoubted || before.flaw != nil
            let isBusy = before.succeeded.map { start - $0 < .seconds(1) } ?? false
            if isBusy, !isDoubted, !wasBroken { return health.probeEnded(.looked, since: start) }
            for next in [Step.commit, .proof, .ledger] {
                step = next
                health.reaches(next)
                try await take(next, isDoubted, over: connection, until: start + Self.patience)
            }
            if wasBroken { schema?.mends() }
            health.probeEnded(.passed, since: start)
        } catch {
            if error.missesSchema {
                schema?.breaks(SchemaFit.partsMissing)
            } else if error != .cancelled {
                outage?.note("\(error)", "probe of recordings")
            }
            health.probeEnded(.failed(flaw: step.flaw(error)), since: start)
        }
    }

    /// Looks at the clock and the schema; says what is wrong with the schema.
    private func look(
        over connection: LoopConnection, _ start: ContinuousClock.Instant
    ) async throws(PostgresError) -> String? {
        let sent = ContinuousClock.now
        do throws(PostgresError) {
            let answers = try await connection.execute(Self.read, (), deadline: start + Self.patience)
            guard let answer = answers.first else { throw .decoding(column: 0, reason: "no row") }
            let middle = sent + (.now - sent) / 2
            health.saw(ClockReading(server: answer.clock, instant: middle), at: start)
            return SchemaState.carried.misfit(of: answer.database).map { "\(SchemaFit.otherSchema) \($0)" }
        } catch {
            guard error.missesSchema else { throw error }
            return SchemaFit.otherSchema
        }
    }

    private func take(
        _ step: Step, _ isDoubted: Bool, over connection: LoopConnection, until deadline: ContinuousClock.Instant
    ) async throws(PostgresError) {
        switch step {
        case .answer: break
        case .commit: _ = try await connection.execute(AdminStatements.writeNothing, (), deadline: deadline)
        case .proof:
            guard let stale = Self.stale else { break }
            _ = try await connection.execute(RecordBatch.recordOne, (stale, clock), deadline: deadline)
            _ = try await connection.execute(RecordBatch.record, (stale, clock), deadline: deadline)
        case .ledger:
            _ = try await connection.execute(Self.lock, (), deadline: deadline)
            if isDoubted { _ = try await connection.execute(Self.write, (), deadline: deadline) }
        }
        // The end of a wait that was given up is not the end that was waited for.
        guard ContinuousClock.now < deadline else { throw .deadlineExceeded }
    }

    /// A decision of before the first change of policy: no matter what is on record, it is stale.
    private static let stale = (try? BucketName("probe")).map { bucket in
        RecordBatch([
            IssuanceProposal(
                id: nobody, position: PolicyPosition(sequence: 0, tag: nobody), scopes: [.all], principal: .anyone,
                matchedPrincipal: .anyone, grantID: nobody, credentialID: nobody, delivery: .presignedURL,
                actions: [.getObject], bucket: bucket, prefix: ExactText(""),
                expiresAt: Date(timeIntervalSince1970: 0), requestID: "", charges: [])
        ])
    }
    private static let nobody = UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0))
}

// MARK: - Statements

extension RecordingProbe {
    static let read = Statement<Void, (clock: Date, database: SchemaState)>(
        "SELECT clock_timestamp(), \(SchemaState.columns)", onlyReads: true
    ) { row throws(PostgresError) in
        (clock: try row.decode(0), database: try SchemaState(row, from: 1))
    }

    /// Takes the locks that recordings take, in their order, and the rights that they need.
    static let lock = Statement<Void, Void>(
        """
        WITH counters AS (
            INSERT INTO quota_usage (quota_id, holder, period_start, shared, used)
            SELECT gen_random_uuid(), '', now(), false, 0 WHERE false
        ),
        rows AS (
            INSERT INTO issuances (
                id, issued_at, policy_seq, principal, matched_principal, grant_id, credential_id, delivery, action, method,
                bucket, object_key, expires_at, request_id
            )
            SELECT gen_random_uuid(), now(), 0, '*', '*', gen_random_uuid(), gen_random_uuid(), 'presigned-url', 'GetObject',
                'GET', '', '', now(), '' WHERE false
        )
        INSERT INTO reservations (
            issuance_id, quota_id, holder, period_start, amount, bucket, object_key, dead_at, check_at
        )
        SELECT gen_random_uuid(), gen_random_uuid(), '', now(), 1, '', '', now(), now() WHERE false
        """)

    /// Writes a row to the ledger and takes it back, and a file of a megabyte, for which the disk has to have room.
    static let write = Statement<Void, Void>(
        """
        DO $$
        BEGIN
            INSERT INTO issuances (
                id, issued_at, policy_seq, principal, matched_principal, grant_id, credential_id, delivery, action, method,
                bucket, object_key, expires_at, request_id
            )
            VALUES (
                gen_random_uuid(), clock_timestamp(), 0, '*', '*', gen_random_uuid(), gen_random_uuid(), 'presigned-url',
                'GetObject', 'GET', '', '', clock_timestamp(), ''
            );
            PERFORM set_config('work_mem', '64kB', true);
            PERFORM count(*) FROM generate_series(1, 50000);
            RAISE EXCEPTION 'taken back' USING ERRCODE = 'SL001';
        EXCEPTION WHEN SQLSTATE 'SL001' THEN
            NULL;
        END
        $$
        """)
}

// MARK: - Words

extension RecordingProbe.Step {
    /// What is said where it does not end; safe to show to anyone.
    var hanging: String {
        switch self {
        case .answer: "PostgreSQL does not answer."
        case .commit: "PostgreSQL does not confirm commits: look at its synchronous standbys and at its disk."
        case .proof: "A change of policy or a migration holds the policy lock."
        case .ledger: "Something holds a lock on the ledger's tables."
        }
    }

    /// What is said where it fails; safe to show to anyone. The log has what the server said.
    func flaw(_ error: PostgresError) -> String {
        if error.isWait { return hanging }
        if case .outcomeUnknown = error { return Self.commit.hanging }
        guard let state = error.sqlState else {
            return error.isOutage ? "PostgreSQL cannot be reached." : hanging
        }
        switch state {
        case "25006": return "PostgreSQL takes no writes: it is a standby, or default_transaction_read_only is on."
        case "53100": return "PostgreSQL's disk is full."
        case "53300": return "PostgreSQL has no connection left."
        case "42501": return "The gateway's role lacks a right: run 'sluice migrate'."
        case "42883", "42P01", "42703": return SchemaFit.partsMissing
        case _ where state.utf8.starts(with: "57P".utf8): return "PostgreSQL is starting or stopping."
        default: return "Recordings fail with SQLSTATE \(state)."
        }
    }
}
