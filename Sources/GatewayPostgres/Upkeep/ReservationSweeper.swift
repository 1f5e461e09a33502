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
    /// Time after which an upload is given up in any case. By then the ledger supports no proof of an object any more.
    static let utmostPatience = Duration.seconds(24 * 86_400)

    /// When to look at reservations, and how many at once.
    public struct Schedule: Sendable {
        /// Time after a URL's death during which an upload may still be under way. Large uploads get more.
        var grace: Duration
        /// Time between two rounds. A store that did not answer is asked again after this time and the grace.
        public var interval: Duration
        /// Time after which an upload is given up whose store told nothing about it, but something about others.
        public var patience: Duration
        /// Number of reservations per step.
        public var batch: Int
        /// Maximum number of concurrent questions to stores.
        var maxQuestions: Int

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
    private let discardAgain: @Sendable (UUID) async throws(StoreFailure) -> Void

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
        discardAgain: @escaping @Sendable (UUID) async throws(StoreFailure) -> Void = { _ in }
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
        var round = SettlingRound(logger: logger)
        var end = ContinuousClock.now + Self.lease
        do throws(PostgresError) {
            while !Task.isCancelled {
                // New reservations may become due without end. Stores that were passed over get another chance.
                if ContinuousClock.now >= end {
                    round = SettlingRound(logger: logger)
                    end = ContinuousClock.now + Self.lease
                }
                let due = try await connection.execute(
                    Self.takeDue,
                    (
                        schedule.grace.seconds, Int32(clamping: schedule.batch), clock, Self.lease.seconds,
                        round.passedOver
                    ))
                if due.isEmpty {
                    guard round.returnToSlow() else { return logger.debug("no reservation is due") }
                    continue
                }
                let findings = await verify(due, in: &round)
                // First what was found: once its reservation is gone, nobody looks at an upload again.
                let told = findings.filter { $0.isFinal && $0.outcome != nil }
                try await connection.perform(
                    LandingTable.noteSettled, (told.map(\.reservation.issuanceID), told.map { $0.outcome?.size }))
                try await connection.perform(Self.settle, (findings, schedule.interval.seconds))
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
    /// - Returns: What is known now. A reservation about which nobody was asked is not in it: it stays taken until the
    ///   end of the lease, and can then be looked at by a gateway that can ask.
    private func verify(_ due: [Reservation], in round: inout SettlingRound) async -> [Finding] {
        await round.ask(questions(about: due), about: \.bucket, atOnce: schedule.maxQuestions) { await self.ask($0) }
        return due.compactMap { findingWithoutAsking($0) } + round.endBatch()
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
        case .underWay:
            return Finding(reservation: reservation, isFinal: reservation.waited >= Self.utmostPatience.seconds)
        case .left: return Finding(reservation: reservation, proof: reservation.part?.proof, isFinal: true)
        case .discarded, .none:
            // This program may no longer accept the key of the row. Then it cannot ask about it.
            let isAskable = reservation.part != nil || (try? ObjectKey(reservation.key)) != nil
            let isAsked = isAskable && reservation.waited < Self.utmostPatience.seconds
            return isAsked ? nil : Finding(reservation: reservation, isFinal: true)
        }
    }

    private func ask(_ question: Question) async -> SettlingAnswer {
        let start = ContinuousClock.now
        var answer = SettlingAnswer(bucket: question.bucket)
        do throws(StoreFailure) {
            if let upload = question.upload {
                try await discardAgain(upload)
                answer.findings = question.reservations.map {
                    Finding(reservation: $0, proof: $0.part?.proof, isFinal: true)
                }
            } else {
                for reservation in question.reservations { answer.findings.append(try await look(at: reservation)) }
            }
        } catch {
            // A gateway that stops has not asked.
            if Task.isCancelled { return SettlingAnswer(bucket: question.bucket) }
            answer.failure = error
            if case .unasked = error { return answer }
            answer.findings = question.reservations.map {
                Finding(reservation: $0, isFinal: $0.waited > schedule.patience.seconds)
            }
        }
        answer.duration = ContinuousClock.now - start
        return answer
    }

    private func look(at reservation: Reservation) async throws(StoreFailure) -> Finding {
        var finding = Finding(reservation: reservation, isFinal: true)
        guard let key = try? ObjectKey(reservation.key), let bucket = try? BucketName(reservation.bucket),
            let look = try await verifier.look(at: key, in: bucket)
        else { return finding }
        // Without the store's clock, neither its timestamps nor the death of its links can be judged.
        guard let difference = look.clockDifference, difference <= clock.maxDifference else {
            throw .unclear("the store's clock differs, or the answer has no time")
        }
        finding.proof = look.proof(against: reservation.permittedAt, maxClockDifference: clock.maxDifference)?.rawValue
        finding.outcome =
            finding.proof == nil ? reservation.landing(look, tolerance: clock.maxDifference + 1) : .absent
        return finding
    }
}

extension Duration {
    var seconds: Double { self / .seconds(1) }
}
