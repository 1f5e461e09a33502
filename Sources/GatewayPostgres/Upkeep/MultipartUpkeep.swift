import FoundationEssentials
public import GatewayCore
public import LibPQ
public import Logging
public import ServiceLifecycle
import Synchronization

/// Aborts multipart uploads that were not completed in time, and those whose start or end was interrupted. Also forgets
/// parts that were reserved and never issued.
///
/// Gateways share the work: each takes uploads for some minutes, in which no other gateway ends them.
public struct MultipartUpkeep: Service {
    /// Time between two rounds.
    private static let interval = Duration.seconds(60)

    private let connection: PostgresConnection
    private let clean: @Sendable (MultipartUpload) async throws(GatewayError) -> Void
    private let clock: LedgerClock
    private let logger: Logger
    private let unissuedParts = UnissuedParts()

    /// Time for which uploads are taken. A round takes none for longer, because by then the first of those that failed
    /// are due again.
    private static let lease = Duration.seconds(300)
    /// Uploads that are taken at once. Each is two questions to a store, of five seconds at most.
    private static let batch: Int32 = 25
    /// Maximum number of uploads that are ended at the same time.
    private static let maxQuestions = 8
    private static let keepDays: Int32 = 33
    /// Uploads that one statement prunes.
    static let step: Int32 = 1000

    /// Creates the service.
    ///
    /// - Parameters:
    ///   - connection: Logged in as the gateway; may be shared.
    ///   - clock: The gateway's clock. An upload expires by the later of the gateway's and the database's clock.
    ///   - logger: Receives a message for each upload that was aborted or could not be.
    ///   - clean: Aborts an upload at the store.
    public init(
        connection: PostgresConnection, clock: LedgerClock, logger: Logger,
        clean: @escaping @Sendable (MultipartUpload) async throws(GatewayError) -> Void
    ) {
        self.connection = connection
        self.clock = clock
        self.logger = logger
        self.clean = clean
    }

    /// Does a round at once and then after every interval, until the service shuts down.
    public func run() async {
        await doRounds(every: Self.interval) { await self.runRound() }
    }

    /// Removes uploads that ended long ago and parts that were never issued, and ends all uploads that are due. Uploads
    /// that fail are due again some minutes later, until they are given up.
    func runRound() async {
        await logger.attempt("ended uploads in parts not removed", in: connection.outage) { () throws(PostgresError) in
            try await inSteps(of: Self.step) { (step) throws(PostgresError) in
                try await connection.execute(MultipartUploadTable.prune, (Self.keepDays, clock.time, step)).first
            }
        }
        await logger.attempt("parts that were not issued stay reserved", in: connection.outage) {
            () throws(PostgresError) in
            try await forgetUnissuedParts()
        }
        await logger.attempt("uploads in parts not looked after", in: connection.outage) { () throws(PostgresError) in
            try await endDue()
        }
    }

    /// Ends uploads until none is due that can be ended, but for no longer than they are taken for. Stores that hang
    /// delay no others.
    private func endDue() async throws(PostgresError) {
        var round = StoreRound<UUID>(logger: logger)
        let end = ContinuousClock.now + Self.lease
        while !Task.isCancelled, ContinuousClock.now < end {
            let due = try await connection.execute(
                MultipartUploadTable.takeDue, (Self.batch, clock.time, Self.lease.seconds, round.passedOver))
            if due.isEmpty {
                guard round.returnToSlow() else { return }
                continue
            }
            await round.ask(due, about: \.bucket.rawValue, atOnce: Self.maxQuestions) { await self.end($0) }
            let answers = round.closeBatch().values.flatMap { $0.answers }
            try await giveUp(answers.filter { $0.failure != nil }.flatMap { $0.findings })
        }
    }

    /// Gives up those of the uploads that were not ended for as long as reserved bytes wait for a store. What their
    /// parts reserved stays counted.
    ///
    /// - Parameter failed: Uploads that this gateway still holds and has just failed to end. Others may not have been
    ///   tried yet, or another gateway may be ending them.
    private func giveUp(_ failed: [UUID]) async throws(PostgresError) {
        guard !failed.isEmpty else { return }
        let request = (uploads: failed, now: clock.time, patience: ReservationSweeper.utmostPatience.seconds)
        let count = try await connection.execute(MultipartUploadTable.giveUp, request).first ?? 0
        guard count > 0 else { return }
        logger.warning(
            "uploads in parts given up, because their stores did not end them in time", metadata: ["count": "\(count)"])
    }

    /// Each part is looked at once. The first round looks at those of a day.
    private func forgetUnissuedParts() async throws(PostgresError) {
        var hasMore = true
        while hasMore, !Task.isCancelled {
            let request = (from: unissuedParts.lookedTo, now: clock.time)
            guard let look = try await connection.execute(MultipartUploadTable.forgetUnissued, request).first else {
                return
            }
            unissuedParts.lookedTo = look.end
            hasMore = look.hasMore
        }
    }

    private func end(_ upload: MultipartUpload) async -> StoreAnswer<UUID> {
        let start = ContinuousClock.now
        var answer = StoreAnswer<UUID>(bucket: upload.bucket.rawValue)
        do throws(GatewayError) {
            try await clean(upload)
            logger.info("upload in parts ended", metadata: ["upload": "\(upload.id)", "bucket": "\(upload.bucket)"])
            // An upload that the store has not named yet ends without a question.
            if upload.storeUploadID != nil { answer.findings = [upload.id] }
        } catch {
            // A gateway that stops has not asked.
            if Task.isCancelled { return answer }
            logger.warning(
                "upload in parts not ended yet", metadata: ["upload": "\(upload.id)", "code": "\(error.code)"])
            answer.findings = [upload.id]
            answer.failure = StoreFailure(ofEnding: error)
        }
        answer.duration = ContinuousClock.now - start
        return answer
    }
}

extension StoreFailure {
    /// Why a store has not ended an upload. Where it was unavailable, the gateway may not have got as far as to ask,
    /// and the cause tells more.
    fileprivate init(ofEnding error: GatewayError) {
        let unasked = StoreFailure(unasked: error)
        if case .storeRefused = error {
            self = .unclear(unasked.cause)
        } else {
            self = unasked
        }
    }
}

/// How far a gateway has looked for parts that were reserved and never issued.
private final class UnissuedParts: Sendable {
    private let instant = Mutex<Date?>(nil)

    /// The instant up to which parts were looked at; `nil` before the first look.
    var lookedTo: Date? {
        get { instant.withLock { $0 } }
        set { instant.withLock { $0 = newValue } }
    }
}
