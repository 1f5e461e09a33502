import FoundationEssentials
import GatewayAPI
import GatewayCloud
import GatewayCore
import GatewayPostgres
import LibPQ
import MicroHTTPD

/// The settings of a gateway, checked as a whole. Nothing reads the environment after this.
struct Settings: Sendable {
    /// Settings of the connections to PostgreSQL.
    struct Database: Sendable {
        var connectionString: Secret<String>
        /// The password, if the connection string has none.
        var password: Secret<String>?
        var ledgerConnections = 2
        var poolConnections = 4

        /// Whether a connection string has a password.
        static func hasPassword(_ connectionString: String) -> Bool {
            let configuration = try? PostgresConfiguration(connectionString: connectionString, applicationName: "")
            return configuration?.hasPassword ?? false
        }

        /// Returns the configuration for one kind of connection.
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

    /// Limits of the listeners. Times are in seconds.
    struct HTTP: Sendable {
        var threads = 2
        var maxConnections = 10_000
        var maxConnectionsPerAddress = 1_024
        var maxRequestsInFlight = 4_096
        /// Size of a request's head in KiB.
        var maxHead = 8
        /// Memory for request bodies in MiB, shared by all listeners.
        var maxBodyMemory = 256
        var idleTimeout = 30
        var requestTimeout = 30
        var answerDeadline = 15
        /// How long `/readyz` tells of the end before the listeners close.
        var drainDelay = 0
        var drainDeadline = 20
    }

    static let defaultListen = ListenAddress(host: "127.0.0.1", port: 8080)
    static let defaultClockMaxDifference = 5

    var database: Database
    var masterKeys: MasterKeyRing
    var bootstrapAdminKey: Secret<String>?
    var listen = Self.defaultListen
    var adminListen: ListenAddress?
    /// Origin at which clients reach the API.
    var publicURL: String?
    var passedListeners = PassedListeners()
    var tls: HTTPServerConfiguration.TLS?
    var allowedOrigins: Set<String> = []
    var trustedProxies = TrustedProxies()
    var outbound: OutboundPolicy
    var ossKeyOrigins = CallbackKeys.defaultOrigins
    var http = HTTP()
    var ledgerKeepDays: Int?
    var ledgerDaysAhead = 7
    /// Days that single refusals are kept.
    var refusalsKeepDays = 30
    var multipartMaxAge = 86_400
    var clockMaxDifference = Self.defaultClockMaxDifference
    var sessionsPerSecond = 50
    /// Requests per second of one principal; 0 for no limit.
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

    /// Parses `address:port`, `[IPv6 address]:port` or a port alone, which means loopback.
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

    /// Whether nobody can listen at both addresses: they have the same port, and an address in common.
    func clashes(with other: ListenAddress) -> Bool {
        guard port == other.port, port > 0 else { return false }
        return IPAddress(host) == IPAddress(other.host) || covers(other) || other.covers(self)
    }

    /// Whether the address stands for all addresses, and another one is among them. `::` accepts IPv4 clients too.
    private func covers(_ other: ListenAddress) -> Bool {
        guard let own = IPAddress(host), let address = IPAddress(other.host) else { return false }
        let isVersion4 = !address.description.contains(":")
        return own == IPAddress("::") || own == IPAddress("0.0.0.0") && isVersion4
    }
}

/// All mistakes in the settings, so that they can be corrected at once.
struct SettingMistakes: Error, CustomStringConvertible {
    let mistakes: [String]

    init(mistakes: [String]) {
        self.mistakes = mistakes
    }

    /// Reports that the master keys do not open the secrets in the database, or differ from those of other gateways.
    init(masterKeys flaws: [MasterKeyError]) {
        mistakes = flaws.map { "\(SettingName.masterKey.variable): \($0). \($0.advice)" }
    }

    var description: String {
        "The configuration has mistakes:\n" + mistakes.map { "  \($0)" }.joined(separator: "\n")
            + "\n'sluice serve --help' lists the settings."
    }
}

extension MasterKeyError {
    /// What to do about keys that cannot be used for this reason.
    var advice: String {
        switch self {
        case .unknownKey:
            "Add this key's line to SLUICE_MASTER_KEY or its file, below the first line. Each line then needs its "
                + "identifier; a single key without one has 'default'. Without it, the secrets that it sealed are lost."
        case .doesNotOpen(let id):
            "Put the key that sealed these rows in place of the one named '\(id)' in SLUICE_MASTER_KEY or its file. "
                + "Without it, their secrets are lost."
        case .differs:
            "All gateways of a database need the same keys. Copy the master key of those gateways, or stop them if "
                + "theirs is the wrong one. A gateway that did not stop by itself counts as running for 30 seconds."
        case .malformed, .sealingFailed: "Correct SLUICE_MASTER_KEY or its file."
        }
    }
}
