import FoundationEssentials
public import GatewayCore
public import LibPQ
public import Logging
public import ServiceLifecycle

/// Gives back bytes that issued uploads reserved and did not use, once their URLs are dead and a grace period has
/// passed.
///
/// Only bytes that provably never arrived, by the store and by the ledger, are given back. All others stay counted: the
/// reservation goes, but its bytes do not come back. While the clocks of gateway, database and store differ by more
/// than is allowed, nothing is settled, because links may live longer than they seem to.
public struct ReservationSweeper: Service {
    /// When to look at reservations, and how many at once.
    public struct Schedule: Sendable {
        /// Time after a URL's death during which an upload may still be under way. Large uploads get more.
        public var grace: Duration
        /// Time between two rounds. A store that did not answer is asked again after this time and the grace.
        public var interval: Duration
        /// Time after which a store that does not answer is no longer asked.
        public var patience: Duration
        /// Number of reservations per step.
        public var batch: Int
        /// Maximum number of concurrent questions to stores.
        public var maxQuestions: Int

        /// Sets the schedule. By default, a store is asked for a day.
        public init(
            grace: Duration = .seconds(900), interval: Duration = .seconds(60), patience: Duration = .seconds(86_400),
            batch: Int = 100, maxQuestions: Int = 8
        ) {
            self.grace = grace
            self.interval = interval
            self.patience = patience
            self.batch = batch
            self.maxQuestions = max(1, maxQuestions)
        }
    }

    private let connection: PostgresConnection
    private let verifier: any UploadVerifier
    private let clock: LedgerClock
    private let schedule: Schedule
    private let logger: Logger

    /// Creates the service.
    ///
    /// - Parameters:
    ///   - connection: Logged in as the gateway; may be shared.
    ///   - verifier: Asks the stores.
    ///   - clock: The gateway's clock, which is compared with those of database and stores.
    ///   - schedule: When to look.
    ///   - logger: Receives the reasons why reservations were not settled.
    public init(
        connection: PostgresConnection, verifier: any UploadVerifier, clock: LedgerClock,
        schedule: Schedule = Schedule(), logger: Logger
    ) {
        self.connection = connection
        self.verifier = verifier
        self.clock = clock
        self.schedule = schedule
        self.logger = logger
    }

    /// Does a round at once and then after every interval, until the service shuts down.
    public func run() async {
        await doRounds(every: schedule.interval) { await self.runRound() }
    }

    /// Settles all reservations that are due.
    package func runRound() async {
        do throws(PostgresError) {
            while !Task.isCancelled {
                let due = try await connection.execute(
                    Self.readDue, (schedule.grace.seconds, Int32(clamping: schedule.batch), clock))
                guard !due.isEmpty else { return logger.debug("no reservation is due") }
                let findings = await verify(due)
                try await connection.perform(Self.settle, (findings, schedule.interval.seconds))
                let told = findings.filter { $0.isFinal && $0.landed != nil }
                try await connection.perform(
                    LandingTable.noteSettled, (told.map(\.reservation.issuanceID), told.map(\.landed)))
            }
        } catch {
            logger.report(error, "reservations not settled yet", in: connection.outage)
        }
    }

    /// Asks about several reservations at once, so that a store that does not answer delays few of them.
    private func verify(_ due: [Reservation]) async -> [Finding] {
        await withTaskGroup(of: Finding.self) { group in
            var findings: [Finding] = []
            for (index, reservation) in due.enumerated() {
                if index >= schedule.maxQuestions, let finding = await group.next() { findings.append(finding) }
                group.addTask { await self.verify(reservation) }
            }
            for await finding in group { findings.append(finding) }
            return findings
        }
    }

    private func verify(_ reservation: Reservation) async -> Finding {
        var finding = Finding(reservation: reservation, isFinal: false)
        // A large upload that began at the last moment may still be under way.
        guard reservation.overdue >= 0 else { return finding }
        switch reservation.part {
        case .none: finding.isFinal = reservation.overdue > schedule.patience.seconds
        case .underWay: return finding
        case .left(let isUnused):
            finding.proof = isUnused ? Finding.partLeftOut : nil
            finding.isFinal = true
            return finding
        }
        do {
            let key = try ObjectKey(reservation.key)
            guard let permittedAt = reservation.permittedAt,
                let look = try await verifier.look(at: key, in: BucketName(reservation.bucket))
            else {
                finding.isFinal = true
                return finding
            }
            // Without the store's clock, neither its timestamps nor the death of its links can be judged.
            guard let difference = look.clockDifference, difference <= clock.maxDifference else { return finding }
            finding.isFinal = true
            finding.proof = look.proof(against: permittedAt, maxClockDifference: clock.maxDifference)?.rawValue
            finding.landed = finding.proof == nil ? reservation.landed(look, tolerance: clock.maxDifference + 1) : 0
        } catch is GatewayError where (try? ObjectKey(reservation.key)) == nil {
            // This program no longer accepts the key of the row, so it cannot ask about it.
            finding.isFinal = true
        } catch {
            logger.debug(
                "upload not verified",
                metadata: ["issuance": "\(reservation.issuanceID)", "reason": "\(type(of: error))"])
        }
        return finding
    }
}

extension ReservationSweeper {
    /// A reservation that is due.
    struct Reservation: Sendable {
        let issuanceID: UUID
        let quotaID: UUID
        let bucket: String
        let key: String
        /// Seconds since the URL's death, less the grace, the allowed clock difference, and the time that an upload of
        /// this size may take. Negative while the upload may still be under way.
        let overdue: Double
        /// When the upload was permitted; `nil` if the ledger no longer knows.
        let permittedAt: Date?
        /// When the URL died.
        let deadAt: Date
        /// The part of a multipart upload that the reservation is for. The store cannot be asked for a part by the key.
        let part: Part?

        /// The state of a part's upload.
        enum Part: Sendable {
            /// The upload has not ended.
            case underWay
            /// The upload has ended, with or without the part.
            case left(isUnused: Bool)
        }

        /// Returns the size of an object that was made during the upload's time, and so may have arrived by it.
        func landed(_ look: StoreLook, tolerance: TimeInterval) -> Int64? {
            guard let permittedAt, let object = look.object, let modifiedAt = object.modifiedAt,
                modifiedAt >= permittedAt.addingTimeInterval(-tolerance),
                modifiedAt <= deadAt.addingTimeInterval(UploadOverrun.slack)
            else { return nil }
            return object.size
        }
    }

    /// The result of looking at a reservation.
    struct Finding: Sendable {
        /// The proof used for parts.
        static let partLeftOut = "left-out"

        let reservation: Reservation
        /// Why nothing can have arrived, in the words of the function that settles; `nil` if bytes may have arrived.
        var proof: String?
        /// Size of the object that probably arrived; `nil` if unknown.
        var landed: Int64?
        /// Whether asking again cannot tell more.
        var isFinal: Bool
    }

    static let readDue = Statement<(grace: Double, most: Int32, clock: LedgerClock), Reservation>(
        """
        SELECT r.issuance_id, r.quota_id, r.bucket, r.object_key,
            date_part('epoch', clock_timestamp() - r.dead_at) - $1 - $4 - r.amount / \(UploadOverrun.leastRate)::float8,
            i.issued_at, r.dead_at, p.issuance_id IS NOT NULL, u.state IN ('completed', 'aborted'),
            u.may_be_complete OR p.part_number = ANY (u.part_numbers)
        FROM reservations r
        LEFT JOIN multipart_parts p ON p.issuance_id = r.issuance_id
        LEFT JOIN multipart_uploads u ON u.id = p.upload_id
        LEFT JOIN LATERAL (
            SELECT i.issued_at FROM issuances i
            WHERE i.id = r.issuance_id AND i.issued_at > r.dead_at - interval '8 days'
                AND i.issued_at < r.dead_at + interval '1 day'
            LIMIT 1
        ) i ON true
        WHERE r.check_at < least(statement_timestamp(), $3) - make_interval(secs => $1 + $4)
            AND abs(date_part('epoch', statement_timestamp() - $3)) <= $4
        ORDER BY r.check_at
        LIMIT $2
        """, onlyReads: true
    ) {
        [$0.grace, $0.most, $0.clock.time, $0.clock.maxDifference]
    } decode: { row throws(PostgresError) in
        Reservation(
            issuanceID: try row.next(), quotaID: try row.next(), bucket: try row.next(), key: try row.next(),
            overdue: try row.next(), permittedAt: try row.next(), deadAt: try row.next(),
            part: try Reservation.Part(&row))
    }

    static let settle = Statement<(findings: [Finding], delay: Double), Void>(
        "SELECT settle_reservations($1, $2, $3, $4, $5)"
    ) { arguments in
        [
            arguments.findings.map(\.reservation.issuanceID), arguments.findings.map(\.reservation.quotaID),
            arguments.findings.map(\.proof), arguments.findings.map(\.isFinal), arguments.delay,
        ]
    }
}

extension ReservationSweeper.Reservation.Part {
    /// Reads three columns: whether there is a part, whether its upload has ended, and whether the completed upload
    /// lists it or may do so.
    fileprivate init?(_ row: inout PostgresRow) throws(PostgresError) {
        let isPart: Bool = try row.next()
        let hasEnded = try row.next(as: Bool?.self) ?? false
        let isListed = try row.next(as: Bool?.self) ?? true
        guard isPart else { return nil }
        self = hasEnded ? .left(isUnused: !isListed) : .underWay
    }
}

extension Duration {
    var seconds: Double { self / .seconds(1) }
}
