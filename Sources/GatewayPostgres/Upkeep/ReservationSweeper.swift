import Foundation
public import GatewayCore
public import LibPQ
public import Logging
public import ServiceLifecycle

/// Gives back what issued uploads reserved and did not use, once their URLs are dead and a grace has passed.
///
/// Only what the store itself says counts. What it does not say stays counted: the reservation goes, its bytes do not come
/// back.
public struct ReservationSweeper: Service {
    /// When reservations are looked at.
    public struct Schedule: Sendable {
        /// Time after a URL's death during which an upload may still be under way, and clocks differ.
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
    private let schedule: Schedule
    private let logger: Logger

    /// Makes the service.
    public init(
        connection: PostgresConnection, verifier: any UploadVerifier, schedule: Schedule = Schedule(), logger: Logger
    ) {
        self.connection = connection
        self.verifier = verifier
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
                    Self.readDue, (schedule.grace.seconds, Int32(clamping: schedule.batch)))
                guard !due.isEmpty else { return }
                let findings = await verify(due)
                try await connection.perform(Self.settle, (findings, schedule.interval.seconds))
                let told = findings.filter { $0.isFinal && !$0.reservation.isPart && $0.landed != nil }
                try await connection.perform(
                    UploadStatements.noteSettled, (told.map(\.reservation.issuanceID), told.map(\.landed)))
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
        var finding = Finding(reservation: reservation, landed: nil, isFinal: true)
        if reservation.isPart {
            finding.landed = reservation.landedPart
            finding.isFinal = finding.landed != nil || reservation.overdue > schedule.patience.seconds
            return finding
        }
        do {
            finding.landed = try await verifier.landedBytes(
                bucket: BucketName(reservation.bucket), key: ObjectKey(reservation.key),
                issuance: reservation.issuanceID)
        } catch is GatewayError where (try? ObjectKey(reservation.key)) == nil {
            // A key of a row that this program would not take any more cannot be asked for.
            return finding
        } catch {
            finding.isFinal = reservation.overdue > schedule.patience.seconds
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
        /// Seconds since the URL was dead and the grace had passed.
        let overdue: Double
        /// Whether it is for a part of an upload, of which the store cannot be asked by the key.
        let isPart: Bool
        /// Bytes of the part that count, once the upload has ended.
        let landedPart: Int64?
    }

    /// What the store said of one.
    struct Finding: Sendable {
        let reservation: Reservation
        /// Bytes that arrived; `nil` where it is not known.
        var landed: Int64?
        /// Whether asking again could not tell more.
        var isFinal: Bool
    }

    static let readDue = Statement<(grace: Double, most: Int32), Reservation>(
        """
        SELECT r.issuance_id, r.quota_id, r.bucket, r.object_key,
            extract(epoch FROM clock_timestamp() - r.dead_at)::float8 - $1,
            p.issuance_id IS NOT NULL,
            CASE u.state
                WHEN 'aborted' THEN 0
                WHEN 'completed' THEN CASE WHEN p.part_number = ANY (u.part_numbers) THEN r.amount ELSE 0 END
            END
        FROM reservations r
        LEFT JOIN multipart_parts p ON p.issuance_id = r.issuance_id
        LEFT JOIN multipart_uploads u ON u.id = p.upload_id
        WHERE r.check_at < clock_timestamp() - make_interval(secs => $1)
        ORDER BY r.check_at
        LIMIT $2
        """, onlyReads: true
    ) {
        [$0.grace, $0.most]
    } decode: { row throws(PostgresError) in
        Reservation(
            issuanceID: try row.decode(0), quotaID: try row.decode(1), bucket: try row.decode(2),
            key: try row.decode(3), overdue: try row.decode(4), isPart: try row.decode(5), landedPart: try row.decode(6)
        )
    }

    static let settle = Statement<(findings: [Finding], delay: Double), Void>(
        "SELECT settle_reservations($1, $2, $3, $4, $5)"
    ) { arguments in
        [
            arguments.findings.map(\.reservation.issuanceID), arguments.findings.map(\.reservation.quotaID),
            arguments.findings.map(\.landed), arguments.findings.map(\.isFinal), arguments.delay,
        ]
    }
}

extension Duration {
    var seconds: Double { self / .seconds(1) }
}
