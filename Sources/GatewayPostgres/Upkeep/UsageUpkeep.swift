public import LibPQ
public import Logging
public import ServiceLifecycle

/// Keeps sums of what was issued, so that counting it reads little of the ledger, and the index by which rows are
/// looked up.
///
/// Days that are there already are summed up too, the newest first and slowly, so that issuing goes on as before.
public struct UsageUpkeep: Service {
    private let connection: PostgresConnection
    private let leastPages: Int
    private let interval: Duration
    private let logger: Logger

    /// Makes the service.
    ///
    /// - Parameters:
    ///   - connection: Logged in as the gateway; may be shared.
    ///   - leastPages: Pages by which the ledger has grown before they are summed up; those that are not yet are read
    ///     instead.
    ///   - interval: Time between two rounds.
    ///   - logger: Told what went wrong.
    public init(
        connection: PostgresConnection, leastPages: Int = 1000, interval: Duration = .seconds(2), logger: Logger
    ) {
        self.connection = connection
        self.leastPages = leastPages
        self.interval = interval
        self.logger = logger
    }

    /// Does a round at once and then every interval, until shut down.
    public func run() async {
        await doRounds(every: interval) { await self.runRound() }
    }

    /// Sums up all that is due now. What takes several steps takes a quarter of the time of one processor.
    func runRound() async {
        do throws(PostgresError) {
            var began = ContinuousClock.now
            while try await connection.execute(Self.sum, Int32(clamping: leastPages)).first == true {
                guard (try? await Task.sleep(for: (.now - began) * 3)) != nil else { return }
                began = .now
            }
        } catch {
            logger.report(error, "issuances not summed up", in: connection.outage)
        }
    }
}

extension UsageUpkeep {
    static let sum = Statement<Int32, Bool>("SELECT sum_issuances($1)") {
        [$0]
    } decode: { row throws(PostgresError) in
        try row.next()
    }
}
