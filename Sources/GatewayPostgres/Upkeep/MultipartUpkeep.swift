import Foundation
public import GatewayCore
public import LibPQ
public import Logging
public import ServiceLifecycle

/// Aborts uploads in parts that nobody completed in time, and those whose start or end was interrupted.
public struct MultipartUpkeep: Service {
    private let connection: PostgresConnection
    private let clean: @Sendable (MultipartUpload) async throws(GatewayError) -> Void
    private let clock: LedgerClock
    private let interval: Duration
    private let logger: Logger

    private static let batch: Int32 = 50
    private static let keepDays: Int32 = 30

    /// Makes the service.
    ///
    /// - Parameters:
    ///   - connection: Logged in as the gateway; may be shared.
    ///   - clock: The gateway's clock: an upload is over when it is by the later of both clocks.
    ///   - interval: Time between two rounds.
    ///   - logger: Told what was aborted, and what could not be.
    ///   - clean: Has the store forget an upload.
    public init(
        connection: PostgresConnection, clock: LedgerClock, interval: Duration = .seconds(60), logger: Logger,
        clean: @escaping @Sendable (MultipartUpload) async throws(GatewayError) -> Void
    ) {
        self.connection = connection
        self.clock = clock
        self.interval = interval
        self.logger = logger
        self.clean = clean
    }

    /// Does a round at once and then every interval, until shut down.
    public func run() async {
        await doRounds(every: interval) { await self.runRound() }
    }

    /// Does all that is due now; what fails is due again in a while.
    func runRound() async {
        do throws(PostgresError) {
            while !Task.isCancelled {
                let due = try await connection.execute(MultipartUploadTable.takeDue, (Self.batch, clock.time))
                guard !due.isEmpty else { break }
                for upload in due { await end(upload) }
            }
            _ = try await connection.execute(MultipartUploadTable.prune, (Self.keepDays, 1000))
        } catch {
            logger.report(error, "uploads in parts not looked after", in: connection.outage)
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
