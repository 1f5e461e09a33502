import Figures
import Logging
public import ServiceLifecycle

/// Looks at all configured servers in the background and tells a ``Primary`` what it sees.
///
/// It keeps one connection to each server, also to standbys: the session of a standby survives its promotion and shows
/// it at the next look. A look comes each second; while no server serves, ten times a second; and at once when a
/// connection is lost.
public final class PrimaryWatch: Service {
    private let primary: Primary
    private let outage: Outage?
    private let eyes: [Eye]
    private let interval: Duration

    /// Time between two looks while no server serves.
    private static let searchInterval = Duration.milliseconds(100)

    /// Creates a watch.
    ///
    /// - Parameters:
    ///   - configuration: How to reach the servers. The session settings are not applied.
    ///   - primary: Told what is seen.
    ///   - interval: Time between two looks while a server serves.
    public init(_ configuration: PostgresConfiguration, primary: Primary, interval: Duration = .seconds(1)) {
        self.primary = primary
        self.interval = interval
        outage = configuration.outage
        eyes = configuration.hosts.indices.map { Eye(configuration, host: $0) }
    }

    /// Looks at each server once, at the same time.
    ///
    /// - Throws: Why no server serves.
    public func look() async throws(PostgresError) {
        await withTaskGroup { group in
            for eye in eyes {
                group.addTask { self.primary.note(await eye.look(), at: eye.host) }
            }
        }
        _ = try primary.target()
    }

    /// Looks until the service shuts down. A server that does not answer does not delay the looks at others.
    public func run() async {
        await cancelWhenGracefulShutdown {
            await withTaskGroup { group in
                for eye in self.eyes {
                    group.addTask { await self.watch(with: eye) }
                }
            }
        }
    }

    private func watch(with eye: Eye) async {
        while !Task.isCancelled {
            let sighting = await eye.look()
            guard !Task.isCancelled else { break }
            primary.note(sighting, at: eye.host)
            // While no server serves, nobody but the watch tries to connect.
            if case .failed = sighting, !primary.serves { outage?.failedConnections.add() }
            await primary.untilDoubt(atMost: primary.serves ? interval : Self.searchInterval)
            // However many connections are lost at once, one look is enough.
            try? await Task.sleep(for: .milliseconds(20))
        }
        await eye.close()
    }
}

/// Looks at one server, over a connection of its own.
private actor Eye {
    let host: Int
    private let configuration: PostgresConfiguration
    private var connection: PostgresConnection
    private var opened = ContinuousClock.now

    /// Time after which the connection is replaced, since its address may lead to another server by then.
    private static let life = Duration.seconds(5)
    /// Time for one look.
    private static let patience = Duration.seconds(2)

    init(_ configuration: PostgresConfiguration, host: Int) {
        self.host = host
        self.configuration = configuration.only(host)
        connection = PostgresConnection(self.configuration, logger: Self.silent)
    }

    /// The log has its lines from those who need the database.
    private static let silent = Logger(label: "postgres-watch") { _ in SwiftLogNoOpLogHandler() }

    func look() async -> ServerSighting {
        if .now - opened > Self.life, connection.isConnected {
            await replaceConnection()
        }
        return await Self.look(over: connection)
    }

    private func replaceConnection() async {
        let fresh = PostgresConnection(configuration, logger: Self.silent)
        let sighting = await Self.look(over: fresh)
        opened = .now
        // A server may have no connection to spare and still be the primary.
        guard case .failed = sighting else {
            let old = connection
            connection = fresh
            return await old.close()
        }
        await fresh.close()
    }

    func close() async {
        await connection.close()
    }

    private static func look(over connection: PostgresConnection) async -> ServerSighting {
        do throws(PostgresError) {
            let seen = try await connection.execute(ServerSighting.look, deadline: .now + patience).first
            return seen ?? .failed(.decoding(column: 0, reason: "no row"))
        } catch {
            return .failed(error)
        }
    }
}
