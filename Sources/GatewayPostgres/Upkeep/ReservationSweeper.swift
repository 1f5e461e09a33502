public import FoundationEssentials
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
///
/// Gateways share the work: each takes reservations for some minutes, in which no other gateway looks at them.
public struct ReservationSweeper: Service {
    /// Time for which a gateway takes reservations. If it ends meanwhile, others take them afterwards. It is longer
    /// than a batch can take.
    private static let lease = Duration.seconds(300)

    /// When to look at reservations, and how many at once.
    public struct Schedule: Sendable {
        /// Time after a URL's death during which an upload may still be under way. Large uploads get more.
        public var grace: Duration
        /// Time between two rounds. A store that did not answer is asked again after this time and the grace.
        public var interval: Duration
        /// Time after which a store that does not answer is no longer asked. It is twice as long for reservations about
        /// which the store was not asked, because it gave no answer about another one.
        public var patience: Duration
        /// Number of reservations per step.
        public var batch: Int
        /// Maximum number of concurrent questions to stores.
        public var maxQuestions: Int

        /// Sets the schedule. By default, a store is asked for a day.
        public init(
            grace: Duration = .seconds(900), interval: Duration = .seconds(60), patience: Duration = .seconds(86_400),
            batch: Int = 256, maxQuestions: Int = 32
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
    private let discardAgain: @Sendable (UUID) async throws(GatewayError) -> Void

    /// Creates the service.
    ///
    /// - Parameters:
    ///   - connection: Logged in as the gateway; may be shared.
    ///   - verifier: Asks the stores.
    ///   - clock: The gateway's clock, which is compared with those of database and stores.
    ///   - schedule: When to look.
    ///   - logger: Receives the reasons why reservations were not settled.
    ///   - discardAgain: Makes a store discard the parts of an aborted upload once more. Called when no part of it can
    ///     be under way any more.
    public init(
        connection: PostgresConnection, verifier: any UploadVerifier, clock: LedgerClock,
        schedule: Schedule = Schedule(), logger: Logger,
        discardAgain: @escaping @Sendable (UUID) async throws(GatewayError) -> Void = { _ in }
    ) {
        self.connection = connection
        self.verifier = verifier
        self.clock = clock
        self.schedule = schedule
        self.logger = logger
        self.discardAgain = discardAgain
    }

    /// Does a round at once and then after every interval, until the service shuts down.
    public func run() async {
        await doRounds(every: schedule.interval) { await self.runRound() }
    }

    /// Settles all reservations that are due and that no other gateway looks at.
    package func runRound() async {
        var silent: Set<String> = []
        do throws(PostgresError) {
            while !Task.isCancelled {
                let due = try await connection.execute(
                    Self.takeDue,
                    (schedule.grace.seconds, Int32(clamping: schedule.batch), clock, Self.lease.seconds))
                guard !due.isEmpty else { return logger.debug("no reservation is due") }
                let findings = await verify(due, except: silent)
                let fallenSilent = Set(findings.filter(\.isSilent).map(\.reservation.bucket)).subtracting(silent)
                for bucket in fallenSilent.sorted() {
                    logger.warning("store gives no answer about uploads", metadata: ["bucket": "\(bucket)"])
                }
                silent.formUnion(fallenSilent)
                try await connection.perform(Self.settle, (findings, schedule.interval.seconds))
                let told = findings.filter { $0.isFinal && $0.landed != nil }
                try await connection.perform(
                    LandingTable.noteSettled, (told.map(\.reservation.issuanceID), told.map(\.landed)))
            }
        } catch {
            logger.report(error, "reservations not settled yet", in: connection.outage)
        }
    }
}

extension ReservationSweeper {
    /// What a store is asked: about an object, or to discard the parts of an upload.
    private struct Question: Sendable {
        let bucket: String
        /// The upload; `nil` for an object.
        let upload: UUID?
        /// The reservations that the answer is about: that of the object, or all that were taken of the upload.
        var reservations: [Reservation]
    }

    /// Asks about several reservations at once.
    ///
    /// Once the store of a bucket has given no answer, it is asked nothing more in this round, so that it delays no
    /// others.
    /// - Parameters:
    ///   - due: The reservations.
    ///   - silent: The buckets whose stores gave no answer before.
    private func verify(_ due: [Reservation], except silent: Set<String>) async -> [Finding] {
        await withTaskGroup(of: [Finding].self) { group in
            var silent = silent
            var running = 0
            var findings = due.compactMap { findingWithoutAsking($0) }
            for question in questions(about: due) {
                if running >= schedule.maxQuestions, let answer = await group.next() {
                    running -= 1
                    findings += answer
                    silent.formUnion(answer.filter(\.isSilent).map(\.reservation.bucket))
                }
                if silent.contains(question.bucket) {
                    findings += question.reservations.map { putOff($0) }
                } else {
                    running += 1
                    group.addTask { await self.ask(question) }
                }
            }
            for await answer in group { findings += answer }
            return findings
        }
    }

    private func questions(about due: [Reservation]) -> [Question] {
        var questions: [Question] = []
        var places: [UUID: Int] = [:]
        for reservation in due where findingWithoutAsking(reservation) == nil {
            let upload = reservation.part?.discardedUpload
            if let upload, let place = places[upload] {
                questions[place].reservations.append(reservation)
                continue
            }
            if let upload { places[upload] = questions.count }
            questions.append(Question(bucket: reservation.bucket, upload: upload, reservations: [reservation]))
        }
        return questions
    }

    /// Returns the finding about a reservation about which no store has to be asked; `nil` for the others.
    private func findingWithoutAsking(_ reservation: Reservation) -> Finding? {
        // A large upload that began at the last moment may still be under way.
        guard reservation.overdue >= 0 else { return Finding(reservation: reservation, isFinal: false) }
        switch reservation.part {
        case .underWay: return Finding(reservation: reservation, isFinal: false)
        case .left: return Finding(reservation: reservation, proof: reservation.part?.proof, isFinal: true)
        case .discarded: return nil
        case .none:
            // This program may no longer accept the key of the row. Then it cannot ask about it.
            let isAskable = reservation.permittedAt != nil && (try? ObjectKey(reservation.key)) != nil
            return isAskable ? nil : Finding(reservation: reservation, isFinal: true)
        }
    }

    /// Returns the finding about a reservation whose store is not asked because it gave no answer just now.
    private func putOff(_ reservation: Reservation) -> Finding {
        Finding(
            reservation: reservation, proof: reservation.part?.proof,
            isFinal: reservation.overdue > 2 * schedule.patience.seconds)
    }

    private func ask(_ question: Question) async -> [Finding] {
        if let upload = question.upload { return await discard(question.reservations, of: upload) }
        var findings: [Finding] = []
        for reservation in question.reservations { findings.append(await look(at: reservation)) }
        return findings
    }

    private func look(at reservation: Reservation) async -> Finding {
        var finding = Finding(reservation: reservation, isFinal: reservation.overdue > schedule.patience.seconds)
        do {
            guard let permittedAt = reservation.permittedAt,
                let look = try await verifier.look(
                    at: ObjectKey(reservation.key), in: BucketName(reservation.bucket))
            else {
                finding.isFinal = true
                return finding
            }
            // Without the store's clock, neither its timestamps nor the death of its links can be judged.
            guard let difference = look.clockDifference, difference <= clock.maxDifference else { return finding }
            finding.isFinal = true
            finding.proof = look.proof(against: permittedAt, maxClockDifference: clock.maxDifference)?.rawValue
            finding.landed = finding.proof == nil ? reservation.landed(look, tolerance: clock.maxDifference + 1) : 0
        } catch {
            finding.isSilent = error is StoreSilence
            // A gateway that stops has not asked.
            if Task.isCancelled { finding.isFinal = false }
            logger.debug(
                "upload not verified",
                metadata: ["issuance": "\(reservation.issuanceID)", "reason": "\(type(of: error))"])
        }
        return finding
    }

    /// Discards the parts of an aborted upload once more. What the store refuses now, it will refuse again.
    private func discard(_ parts: [Reservation], of upload: UUID) async -> [Finding] {
        var isDone = true
        var isSilent = false
        do throws(GatewayError) {
            try await discardAgain(upload)
        } catch {
            isDone = if case .storeRefused = error { true } else { false }
            isSilent = if case .unavailable = error { true } else { false }
            logger.debug("upload not discarded again", metadata: ["upload": "\(upload)", "code": "\(error.code)"])
        }
        return parts.map { part in
            Finding(
                reservation: part, proof: part.part?.proof,
                isFinal: isDone || part.overdue > schedule.patience.seconds, isSilent: isSilent)
        }
    }
}

extension Duration {
    var seconds: Double { self / .seconds(1) }
}
