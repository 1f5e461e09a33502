public import LibPQ
public import Logging
public import ServiceLifecycle

/// Builds the indexes of days of the ledger that are over: of keys, callers and grants.
///
/// It may take a minute for a day of ten million issuances, so it has a connection of its own, which it closes after
/// each round.
public struct IndexUpkeep: Service {
    /// Time between two rounds.
    private static let interval = Duration.seconds(600)

    private let connection: PostgresConnection
    private let logger: Logger
    private let putOff = PutOffWork()
    /// How long one index may take.
    private static let patience = Duration.seconds(3600)

    /// Settings for the session of the connection.
    public static let sessionSettings: [(name: String, value: String)] = [
        ("statement_timeout", "1h"), PostgresConfiguration.endingWithClient,
    ]

    /// Creates the service.
    ///
    /// - Parameters:
    ///   - connection: Logged in as the gateway, with ``sessionSettings``; not shared.
    ///   - logger: Receives failures.
    public init(connection: PostgresConnection, logger: Logger) {
        self.connection = connection
        self.logger = logger
    }

    /// Does a round at once and then after every interval, until the service shuts down.
    public func run() async {
        await doRounds(every: Self.interval) { await self.runRound() }
    }

    /// Builds all indexes that are due now. Several of them take a quarter of one processor's time.
    func runRound() async {
        do throws(PostgresError) {
            var began = ContinuousClock.now
            while try await connection.execute(Self.index, deadline: began + Self.patience).first == true {
                guard (try? await Task.sleep(for: (.now - began) * 3)) != nil else { break }
                began = .now
            }
            putOff.forget()
        } catch {
            // lock_not_available: somebody drops the day or still writes to it. The next round tries again.
            if error.sqlState != "55P03" || putOff.isToBeTold(of: "indexes", at: .now) {
                logger.report(error, "days not indexed", in: connection.outage)
            }
        }
        await connection.close()
    }
}

extension IndexUpkeep {
    static let index = Statement<Void, Bool>("SELECT index_closed_day()")
}
