import FoundationEssentials
public import GatewayCore
public import LibPQ
public import Logging
public import ServiceLifecycle
import Synchronization

/// Aborts multipart uploads that were not completed in time, and those whose start or end was interrupted. Also forgets
/// parts that were reserved and never issued.
public struct MultipartUpkeep: Service {
    /// Time between two rounds.
    private static let interval = Duration.seconds(60)

    private let connection: PostgresConnection
    private let clean: @Sendable (MultipartUpload) async throws(GatewayError) -> Void
    private let clock: LedgerClock
    private let logger: Logger
    private let unissuedParts = UnissuedParts()

    /// Uploads that are taken at once, for five minutes. Each is two questions to a store, of five seconds at most.
    private static let batch: Int32 = 25
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

    /// Ends all uploads that are due, and removes those that ended long ago, and parts that were never issued. Uploads
    /// that fail are due again some minutes later.
    func runRound() async {
        await logger.attempt("uploads in parts not looked after", in: connection.outage) { () throws(PostgresError) in
            while !Task.isCancelled {
                let due = try await connection.execute(MultipartUploadTable.takeDue, (Self.batch, clock.time))
                guard !due.isEmpty else { break }
                for upload in due { await end(upload) }
            }
        }
        await logger.attempt("ended uploads in parts not removed", in: connection.outage) { () throws(PostgresError) in
            try await inSteps(of: Self.step) { (step) throws(PostgresError) in
                try await connection.execute(MultipartUploadTable.prune, (Self.keepDays, clock.time, step)).first
            }
        }
        await logger.attempt("parts that were not issued stay reserved", in: connection.outage) {
            () throws(PostgresError) in
            try await forgetUnissuedParts()
        }
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

    private func end(_ upload: MultipartUpload) async {
        do throws(GatewayError) {
            try await clean(upload)
            logger.info("upload in parts ended", metadata: ["upload": "\(upload.id)", "bucket": "\(upload.bucket)"])
        } catch {
            logger.warning(
                "upload in parts not ended yet", metadata: ["upload": "\(upload.id)", "code": "\(error.code)"])
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
