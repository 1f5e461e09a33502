import FoundationEssentials
import GatewayCore
import LibPQ

/// Repeats the steps of a recording over one of the ledger's connections, without leaving a row.
struct RecordingProbe {
    let health: LaneHealth
    let clock: LedgerClock
    let schema: SchemaFit?
    /// How the connection is reached, and what outages of the database are noted in.
    let configuration: PostgresConfiguration

    /// A reading of PostgreSQL's clock and its instant, exact to half the round trip.
    struct ClockReading: Sendable {
        let server: Date
        let instant: ContinuousClock.Instant
    }

    /// The end of a probe.
    enum End {
        /// Only clock and schema were checked. This is the case when recordings succeed, and when the schema does not
        /// fit.
        case looked
        case passed
        case failed(flaw: String)
    }

    /// The steps of a probe, in order.
    enum Step: Sendable {
        /// Reads the clock and the list of applied migrations and functions.
        case answer
        /// Commits a transaction that changes no table. The commit may have to wait for a standby or the disk.
        case commit
        /// Sends an outdated decision to both recording functions, which try to prove it.
        case proof
        /// Locks the tables of the ledger. After a failed recording over any connection, also writes a row and rolls it
        /// back.
        case ledger
    }

    /// Time allowed for a probe.
    static let patience = Duration.seconds(2)

    /// Runs the probe over a connection. Results go to ``health`` and ``schema``.
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
            let isTroubled = before.troubledSince != nil
            let isBusy = before.succeeded.map { start - $0 < .seconds(1) } ?? false
            if isBusy, !isTroubled, !wasBroken { return health.probeEnded(.looked, since: start) }
            for next in [Step.commit, .proof, .ledger] {
                step = next
                health.reaches(next)
                try await take(
                    next, writes: isTroubled || before.isAskedToWrite, over: connection, until: start + Self.patience)
            }
            if wasBroken { schema?.mends() }
            health.probeEnded(.passed, since: start)
        } catch {
            if error.missesSchema {
                schema?.breaks(.init(missing: error))
            } else if error != .cancelled, !configuration.isSpare() {
                configuration.outage?.note("\(error)", "probe of recordings")
            }
            health.probeEnded(.failed(flaw: step.flaw(error)), since: start)
        }
    }

    /// Checks the clock and the schema. Returns what is wrong with the schema; `nil` if it fits.
    private func look(
        over connection: LoopConnection, _ start: ContinuousClock.Instant
    ) async throws(PostgresError) -> SchemaFit.Misfit? {
        let sent = ContinuousClock.now
        do throws(PostgresError) {
            let answers = try await connection.execute(Self.read, (), deadline: start + Self.patience)
            guard let answer = answers.first else { throw .decoding(column: 0, reason: "no row") }
            let middle = sent + (.now - sent) / 2
            health.saw(ClockReading(server: answer.clock, instant: middle), at: start)
            return SchemaState.carried.misfit(of: answer.database).map { SchemaFit.Misfit($0) }
        } catch {
            guard error.missesSchema else { throw error }
            return .init(SchemaFit.otherSchema, missing: error)
        }
    }

    private func take(
        _ step: Step, writes: Bool, over connection: LoopConnection, until deadline: ContinuousClock.Instant
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
            if writes { _ = try await connection.execute(Self.write, (), deadline: deadline) }
        }
        // After the deadline, a step may end only because its wait was given up. That is no success.
        guard ContinuousClock.now < deadline else { throw .deadlineExceeded }
    }

    /// A decision older than the first policy change. It is always stale, whatever is on record.
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

    /// Takes the same locks as recordings, in the same order, and so needs the same rights.
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
            issuance_id, quota_id, holder, period_start, amount, issued_at, policy_seq, principal, matched_principal,
            grant_id, credential_id, delivery, action, bucket, object_key, dead_at, check_at
        )
        SELECT gen_random_uuid(), gen_random_uuid(), '', now(), 1, now(), 0, '*', '*', gen_random_uuid(), gen_random_uuid(),
            '', '', '', '', now(), now() WHERE false
        """)

    /// Writes a row to the ledger and rolls it back. Also writes a temporary file of about a megabyte, which needs room
    /// on the disk.
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
    /// The message if the step does not end. It is safe to show to anyone.
    var hanging: String {
        switch self {
        case .answer: "PostgreSQL does not answer."
        case .commit: "PostgreSQL does not confirm commits: look at its synchronous standbys and at its disk."
        case .proof: "A change of policy or a migration holds the policy lock."
        case .ledger: "Something holds a lock on the ledger's tables."
        }
    }

    /// Returns the message if the step fails. It is safe to show to anyone; the log has the server's message.
    func flaw(_ error: PostgresError) -> String {
        if error.isWait { return hanging }
        if case .outcomeUnknown = error { return Self.commit.hanging }
        guard let state = error.sqlState else {
            return error.isOutage ? "PostgreSQL cannot be reached." : hanging
        }
        switch state {
        case "25006":
            return "PostgreSQL does not accept writes: it is a standby, or default_transaction_read_only is on."
        // A constraint that is violated has a name. Only a row without a partition has none.
        case "23514" where !error.refusesData:
            return "The ledger has no partition for today: run 'sluice doctor'."
        case "53100": return "PostgreSQL's disk is full."
        case "53300": return "PostgreSQL has no free connection."
        case "42501": return "The gateway's role lacks a right: run 'sluice migrate'."
        case "42883", "42P01", "42703": return SchemaFit.partsMissing
        case _ where state.utf8.starts(with: "57P".utf8): return "PostgreSQL is starting or stopping."
        default: return "Recordings fail with SQLSTATE \(state)."
        }
    }
}
