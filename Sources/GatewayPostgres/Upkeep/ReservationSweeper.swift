import Foundation
public import GatewayCore
public import LibPQ
public import Logging
public import ServiceLifecycle

/// Gives back what issued uploads reserved and did not use, once their URLs are dead and a grace has passed.
///
/// What is given back is what provably never arrived, by the store and by the ledger. All else stays counted: the
/// reservation goes, its bytes do not come back. Nothing is settled while the clocks of gateway, database and store
/// differ by more than is allowed: links may live longer than they seem to.
public struct ReservationSweeper: Service {
    /// When reservations are looked at.
    public struct Schedule: Sendable {
        /// Time after a URL's death during which an upload may still be under way; large ones are given more.
        public var grace: Duration
        /// Time between two rounds; also until a store that did not answer is asked again.
        public var interval: Duration
        /// Time after which a store that does not answer is no longer asked.
        public var patience: Duration
        /// Reservations that one step takes on.
        public var batch: Int
        /// Questions to stores at once.
        public var maxQuestions: Int

        /// Sets the schedule.
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

    /// Makes the service.
    ///
    /// - Parameters:
    ///   - connection: Logged in as the gateway; may be shared.
    ///   - verifier: Asks the stores.
    ///   - clock: What the clocks of database and stores are compared with.
    ///   - schedule: When to look.
    ///   - logger: Told what could not be settled.
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

    /// Does a round every interval until shut down.
    public func run() async {
        await doRounds(every: schedule.interval) { await self.runRound() }
    }

    /// Settles everything that is due.
    func runRound() async {
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

    /// Asks about several at once, so that one store that does not answer holds up few.
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
        var finding = Finding(reservation: reservation, isFinal: reservation.overdue > schedule.patience.seconds)
        switch reservation.part {
        case .none: break
        case .underWay: return finding
        case .left(let isUnused):
            finding.proof = isUnused ? Finding.partLeftOut : nil
            finding.isFinal = true
            return finding
        }
        // A large upload that began at the last moment may still be under way.
        guard reservation.overdue >= 0 else { return finding }
        do {
            let key = try ObjectKey(reservation.key)
            guard let permittedAt = reservation.permittedAt,
                let look = try await verifier.look(at: key, in: BucketName(reservation.bucket))
            else {
                finding.isFinal = true
                return finding
            }
            // Without the store's time nothing is known of what its times mean, or when its links die.
            guard let difference = look.clockDifference, difference <= clock.maxDifference else { return finding }
            finding.isFinal = true
            finding.proof = look.proof(against: permittedAt, maxClockDifference: clock.maxDifference)?.rawValue
            finding.landed = finding.proof == nil ? reservation.landed(look, tolerance: clock.maxDifference + 1) : 0
        } catch is GatewayError where (try? ObjectKey(reservation.key)) == nil {
            // A key of a row that this program would not take any more cannot be asked for.
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
        /// Seconds since the URL was dead, the grace had passed, and an upload of that size had its time.
        let overdue: Double
        /// When the upload was permitted; `nil` where the ledger does not know any more.
        let permittedAt: Date?
        /// When its URL was dead.
        let deadAt: Date
        /// The part of an upload that it is for, of which the store cannot be asked by the key.
        let part: Part?

        /// What became of a part.
        enum Part: Sendable {
            /// Its upload has not ended.
            case underWay
            /// Its upload has ended, with it or without.
            case left(isUnused: Bool)
        }

        /// Bytes of an object that was made in the time of the upload, so that it may have come by it.
        func landed(_ look: StoreLook, tolerance: TimeInterval) -> Int64? {
            guard let permittedAt, let object = look.object, let modifiedAt = object.modifiedAt,
                modifiedAt >= permittedAt.addingTimeInterval(-tolerance),
                modifiedAt <= deadAt.addingTimeInterval(ReservationSweeper.slack)
            else { return nil }
            return object.size
        }
    }

    /// Seconds that uploads may go on after their URLs are dead.
    private static let slack: TimeInterval = 900

    /// What was found out about one.
    struct Finding: Sendable {
        /// The proof that is for parts.
        static let partLeftOut = "left-out"

        let reservation: Reservation
        /// Why nothing can have arrived by it, as the function that settles has it; `nil` where something may have.
        var proof: String?
        /// Bytes of the object that probably arrived by it, as far as that can be told.
        var landed: Int64?
        /// Whether asking again could not tell more.
        var isFinal: Bool
    }

    static let readDue = Statement<(grace: Double, most: Int32, clock: LedgerClock), Reservation>(
        """
        SELECT r.issuance_id, r.quota_id, r.bucket, r.object_key,
            date_part('epoch', clock_timestamp() - r.dead_at) - $1 - $4 - r.amount / 65536.0::float8,
            i.issued_at, r.dead_at, p.issuance_id IS NOT NULL, u.state IN ('completed', 'aborted'),
            p.part_number = ANY (u.part_numbers)
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
    /// Reads three columns: whether there is a part, whether its upload has ended, and whether that lists the part.
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
