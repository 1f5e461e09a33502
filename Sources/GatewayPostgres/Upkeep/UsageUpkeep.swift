public import LibPQ
public import Logging
public import ServiceLifecycle

/// Keeps sums of issuances and of the bytes that landed, so that counting them reads little of the ledger. Also
/// maintains the index for looking up rows.
///
/// Days recorded before the sums existed are summed up too, newest first and slowly, so that issuing is not slowed
/// down.
public struct UsageUpkeep: Service {
    /// Time between two rounds.
    private static let interval = Duration.seconds(2)

    private let connection: PostgresConnection
    private let leastPages: Int
    private let logger: Logger
    /// How long one step may take. Steps that end a day or an hour read it whole.
    static let patience = Duration.seconds(3600)

    /// Settings for the session of the connection.
    public static let sessionSettings: [(name: String, value: String)] = [
        ("statement_timeout", "1h"), ("lock_timeout", "2s"), PostgresConfiguration.endingWithClient,
    ]

    /// How many landings one step takes.
    private static let landingsAtOnce: Int32 = 5000
    /// How long what stores report waits at least. By then, links whose recording was under way are on record.
    private static let eventSeconds: Double = 60

    /// Creates the service.
    ///
    /// - Parameters:
    ///   - connection: Logged in as the gateway, with ``sessionSettings``; shared with ``PartitionUpkeep`` alone.
    ///   - leastPages: Number of new ledger pages before they are summed up, unless ten minutes have passed. Until
    ///     then, counting reads them directly.
    ///   - logger: Receives failures.
    public init(connection: PostgresConnection, leastPages: Int = 1000, logger: Logger) {
        self.connection = connection
        self.leastPages = leastPages
        self.logger = logger
    }

    /// Does a round at once and then after every interval, until the service shuts down.
    public func run() async {
        await doRounds(every: Self.interval) { await self.runRound() }
    }

    /// Sums up all pages that are due now. Work of several steps takes a quarter of one processor's time.
    func runRound() async {
        await repeatStep("issuances not summed up") { () throws(PostgresError) in
            try await connection.execute(Self.sum, Int32(clamping: leastPages), deadline: .now + Self.patience).first
                == true
        }
        await repeatStep("callers not summed up") { () throws(PostgresError) in
            try await connection.execute(Self.sumCallers, deadline: .now + Self.patience).first == true
        }
        await repeatStep("landings not summed up") { () throws(PostgresError) in
            let step = (Self.landingsAtOnce, Self.eventSeconds)
            return try await connection.execute(Self.sumLandings, step, deadline: .now + Self.patience).first == true
        }
    }

    private func repeatStep(_ complaint: String, _ step: () async throws(PostgresError) -> Bool) async {
        do throws(PostgresError) {
            var began = ContinuousClock.now
            while try await step() {
                guard (try? await Task.sleep(for: (.now - began) * 3)) != nil else { return }
                began = .now
            }
        } catch {
            logger.report(error, "\(complaint)", in: connection.outage)
        }
    }
}

extension UsageUpkeep {
    static let sum = Statement<Int32, Bool>("SELECT sum_issuances($1)") {
        [$0]
    }

    static let sumCallers = Statement<Void, Bool>("SELECT sum_callers()") {
        []
    }

    static let sumLandings = Statement<(most: Int32, eventSeconds: Double), Bool>(
        "SELECT sum_landings($1, make_interval(secs => $2))"
    ) {
        [$0.most, $0.eventSeconds]
    }
}
