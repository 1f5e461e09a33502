import Foundation
import GatewayAPI
import GatewayCloud
import GatewayCore
import GatewayPostgres
import LibPQ
import Logging
import MicroHTTPD

/// The settings of a gateway, checked as a whole; nothing reads the environment after this.
struct Settings: Sendable {
    /// How PostgreSQL is used.
    struct Database: Sendable {
        var connectionString: Secret<String>
        /// The password, if the connection string has none.
        var password: Secret<String>?
        var ledgerConnections = 2
        var poolConnections = 4
        /// Connections of the admin routes.
        let adminConnections = 4
        /// Connections of the admin routes that read the ledger.
        let reportConnections = 3
        /// For imports, exports and batches of grants; one each.
        let bulkConnections = 4
        /// Connections on which the secrets of stores are looked up.
        let eventConnections = 2
        /// Connections of requests with idempotency keys.
        let idempotencyConnections = 4

        /// All connections to PostgreSQL at once: also those of background work, counters, notifications and
        /// heartbeats.
        var connectionCount: Int {
            ledgerConnections + poolConnections + adminConnections + reportConnections + bulkConnections
                + eventConnections + idempotencyConnections + 4
        }

        /// How one kind of connection is opened.
        ///
        /// - Throws: ``PostgresError/invalidConnectionString(reason:)``.
        func configuration(
            _ applicationName: String, sessionSettings: [(name: String, value: String)] = [],
            responseTimeout: Duration = .seconds(30)
        ) throws(PostgresError) -> PostgresConfiguration {
            try PostgresConfiguration(
                connectionString: connectionString.reveal(), password: password?.reveal(),
                applicationName: applicationName, sessionSettings: sessionSettings, responseTimeout: responseTimeout)
        }
    }

    /// Limits of the listeners: times in seconds.
    struct HTTP: Sendable {
        var threads = 2
        var maxConnections = 10_000
        var maxConnectionsPerAddress = 1_024
        var maxRequestsInFlight = 4_096
        /// MiB, for all listeners together.
        var maxBodyMemory = 256
        var idleTimeout = 30
        var requestTimeout = 30
        var answerDeadline = 15
        var drainDeadline = 20
    }

    var database: Database
    var masterKeys: MasterKeyRing
    var bootstrapAdminKey: Secret<String>?
    var listen = ListenAddress(host: "127.0.0.1", port: 8080)
    var adminListen: ListenAddress?
    var tls: HTTPServerConfiguration.TLS?
    var allowedOrigins: Set<String> = []
    var trustedProxies = TrustedProxies()
    var outbound: OutboundPolicy
    var ossKeyOrigins = CallbackKeys.defaultOrigins
    var http = HTTP()
    var ledgerKeepDays: Int?
    var ledgerDaysAhead = 7
    var multipartMaxAge = 86_400
    var clockMaxDifference = 5
    var sessionsPerSecond = 50
    /// Requests of one principal; 0 for no limit.
    var requestsPerSecond = 500
    var ticketsMaxAge = Ticket.maxLife
}

/// An address and a port to listen on.
struct ListenAddress: Sendable, Equatable {
    var host: String
    var port: UInt16

    init(host: String, port: UInt16) {
        self.host = host
        self.port = port
    }

    /// Reads `address:port`, `[IPv6 address]:port` or a port alone.
    init?(_ text: String) {
        guard let colon = text.lastIndex(of: ":") else {
            guard let port = UInt16(text) else { return nil }
            self.init(host: "127.0.0.1", port: port)
            return
        }
        guard let port = UInt16(text[text.index(after: colon)...]) else { return nil }
        var host = text[..<colon]
        if host.hasPrefix("["), host.hasSuffix("]") {
            host = host.dropFirst().dropLast()
        } else if host.contains(":") {
            return nil
        }
        guard IPAddress(host) != nil else { return nil }
        self.init(host: String(host), port: port)
    }
}

/// Every mistake in the settings, so that all of them can be corrected at once.
struct SettingMistakes: Error, CustomStringConvertible {
    let mistakes: [String]

    init(mistakes: [String]) {
        self.mistakes = mistakes
    }

    /// Says that the master keys do not open the secrets in the database.
    init(masterKeys flaws: [MasterKeyError]) {
        mistakes = flaws.map {
            "\(SettingName.masterKey.variable): \($0); secrets in the database are sealed with it, so set it too"
        }
    }

    var description: String {
        "The configuration has mistakes:\n" + mistakes.map { "  \($0)" }.joined(separator: "\n")
            + "\n'sluice serve --help' lists the settings."
    }
}
