import CLibPQ
import FoundationEssentials
import Glibc

/// How to reach a server, and the settings with which each session starts.
public struct PostgresConfiguration: Sendable {
    /// Connection parameters by libpq keyword, from the connection string.
    let parameters: [String: String]
    /// The servers to try, in order. Each entry overrides the parameters.
    private(set) var hosts: [[String: String]]

    /// Settings of each session, for example `("statement_timeout", "5s")`. They are applied in order after connecting.
    public var sessionSettings: [(name: String, value: String)]
    /// The session settings plus those that every session needs. A server that ends idle sessions would end that of a
    /// listener again and again, and any other perhaps at the moment when a statement is sent. Warnings report that a
    /// commit may not be durable, so the level at which the server sends them is fixed here.
    var settings: [(name: String, value: String)] {
        [("idle_session_timeout", "0")] + sessionSettings + [("client_min_messages", "warning")]
    }
    /// How long to wait for one server of the list before trying the next.
    var connectTimeout: Duration
    /// How long a call without a deadline waits for the server's answer.
    public var responseTimeout: Duration
    /// How long a statement whose task was cancelled may still take before the server is asked to cancel it. Most end
    /// sooner, and the connection can be kept: after a request to cancel, it must be abandoned.
    var cancelDelay: Duration
    /// How long the server has to confirm a cancellation before the connection is abandoned.
    var cancelTimeout: Duration
    /// How long to wait after failed attempts to connect.
    var backoff: Backoff
    /// The collector of outages. If `nil`, each failure has its own line in the log.
    public var outage: Outage?
    /// Tells whether other connections do the work of these meanwhile. A failure to connect is then no outage, and has
    /// a line of level `debug`.
    public var isSpare: @Sendable () -> Bool = { false }
    /// Chooses the server to connect to, and judges each connection. If `nil`, the first server of the list that takes
    /// the login is used.
    public var primary: Primary?

    /// Reads a connection string.
    ///
    /// - Parameters:
    ///   - connectionString: Keywords and values or a URI, with one or several hosts. `target_session_attrs=read-write`
    ///     selects the primary among them. Keepalive settings and TCP timeouts that it omits get values that detect a
    ///     dead server in about half a minute.
    ///   - password: Overrides the password in the connection string, if any.
    ///   - applicationName: Name shown in `pg_stat_activity`, unless the connection string sets one.
    ///   - sessionSettings: Settings of each session, applied after `TimeZone` = `UTC`, `default_transaction_isolation`
    ///     = `read committed` and `jit` = `off`.
    ///   - responseTimeout: How long a call without a deadline waits for an answer.
    /// - Throws: ``PostgresError/invalidConnectionString(reason:)``.
    /// - SeeAlso: PostgreSQL 15 documentation, 34.1.1 "Connection Strings".
    public init(
        connectionString: String, password: String? = nil, applicationName: String,
        sessionSettings: [(name: String, value: String)] = [],
        responseTimeout: Duration = .seconds(30)
    ) throws(PostgresError) {
        var parameters = [
            "application_name": applicationName, "keepalives_idle": "10", "keepalives_interval": "5",
            "keepalives_count": "3", "tcp_user_timeout": "15000",
        ]
        parameters.merge(try parseConnectionString(connectionString)) { $1 }
        if let password { parameters["password"] = password }
        // Text is always UTF-8, whatever the environment says.
        parameters["client_encoding"] = "UTF8"
        self.hosts = try Self.splitHosts(parameters)
        self.parameters = parameters
        // Where settings forbid a plan, PostgreSQL takes the others for costly, and compiles for a third of a second
        // what runs for milliseconds.
        self.sessionSettings =
            [("TimeZone", "UTC"), ("default_transaction_isolation", "read committed"), ("jit", "off")]
            + sessionSettings
        self.connectTimeout = .seconds(3)
        self.responseTimeout = responseTimeout
        self.cancelDelay = .milliseconds(50)
        self.cancelTimeout = .seconds(2)
        self.backoff = Backoff()
    }

    /// A session setting for statements that may take long: once the client is gone, the server ends its statement
    /// within about a second, and frees the locks. Otherwise it notices only when it next sends or receives something.
    ///
    /// - SeeAlso: PostgreSQL 15 documentation, 20.3.2 "TCP Settings", `client_connection_check_interval`.
    public static let endingWithClient = (name: "client_connection_check_interval", value: "1s")

    /// The configuration for a look at one server, whatever that server is.
    func only(_ host: Int) -> Self {
        var one = self
        one.hosts = [hosts[host].merging(["target_session_attrs": "any"]) { $1 }]
        one.sessionSettings = [("statement_timeout", "5s")]
        one.primary = nil
        one.outage = nil
        one.connectTimeout = min(connectTimeout, .seconds(2))
        one.cancelTimeout = .milliseconds(500)
        one.backoff = Backoff(base: .milliseconds(50), limit: .milliseconds(200))
        return one
    }

    /// Removes the variables `PG…` from the environment of this process. From them libpq takes what a connection string
    /// leaves out.
    ///
    /// Call it before anything else reads the environment: C does not guard that.
    public static func forgetEnvironment() {
        for name in ProcessInfo.processInfo.environment.keys where name.hasPrefix("PG") { unsafe unsetenv(name) }
    }

    /// Whether a password was given, in the connection string or separately.
    public var hasPassword: Bool { parameters["password"] != nil }

    /// Returns one set of overrides per host of the comma-separated lists.
    ///
    /// The hosts are tried one by one here, not by libpq. libpq's own timeout per host works only in its blocking call,
    /// which cannot be cancelled.
    private static func splitHosts(_ parameters: [String: String]) throws(PostgresError) -> [[String: String]] {
        func list(_ name: String) -> [String]? {
            parameters[name].map { $0.split(separator: ",", omittingEmptySubsequences: false).map(String.init) }
        }
        let names = list("host")
        let addresses = list("hostaddr")
        let ports = list("port")
        let count = max(names?.count ?? 0, addresses?.count ?? 0, 1)
        guard names == nil || names?.count == count, addresses == nil || addresses?.count == count,
            ports == nil || ports?.count == count || ports?.count == 1
        else { throw .invalidConnectionString(reason: "the lists of hosts and ports differ in length") }
        // Otherwise libpq would quote them, and either may be a part of a password.
        guard (ports ?? []).allSatisfy(isPort) else {
            throw .invalidConnectionString(reason: "a port is not a number from 1 to 65535; \(adviceOnPasswords)")
        }
        guard ((names ?? []) + (addresses ?? [])).allSatisfy(isHost) else {
            throw .invalidConnectionString(reason: "a host has a character that no host has; \(adviceOnPasswords)")
        }
        return (0..<count).map { index in
            var host: [String: String] = [:]
            host["host"] = names?[index]
            host["hostaddr"] = addresses?[index]
            host["port"] = ports.map { $0.count == 1 ? $0[0] : $0[index] }
            return host
        }
    }

    /// Whether a text is a port. An empty one stands for the default.
    private static func isPort(_ text: String) -> Bool {
        text.isEmpty || Int(text).map { (1...65_535).contains($0) } ?? false
    }

    /// Whether a text may be a name, an address or the path of a socket, which begins with `/`, or with `@` if it has
    /// no file. An empty one stands for the default.
    private static func isHost(_ text: String) -> Bool {
        if text.hasPrefix("/") { return true }
        let name = text.hasPrefix("@") ? text.dropFirst() : text[...]
        // A zone follows the '%' of an IPv6 address.
        return name.utf8.allSatisfy { byte in
            byte >= 0x80 || Self.hostBytes.contains(byte)
        }
    }

    private static let hostBytes = Set(
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_:%".utf8)

    private static let adviceOnPasswords =
        "in a URI, write @ / : ? # % of a password as %40 %2F %3A %3F %23 %25"
}

/// The delays between attempts to connect: exponential, with full jitter so that many gateways do not return at the
/// same time.
///
/// - SeeAlso: AWS Architecture Blog, "Exponential Backoff And Jitter".
public struct Backoff: Sendable {
    /// Longest delay after the first failure.
    public var base: Duration
    /// Longest delay after any number of failures.
    public var limit: Duration

    /// Creates a back-off from its bounds.
    public init(base: Duration = .milliseconds(100), limit: Duration = .seconds(5)) {
        self.base = base
        self.limit = limit
    }

    /// Returns the delay after a number of consecutive failures.
    ///
    /// - Parameters:
    ///   - failures: Number of failures, at least 1.
    ///   - fraction: The jitter, evenly distributed in 0..<1.
    public func delay(afterFailures failures: Int, fraction: Double) -> Duration {
        // 2^20 times the base exceeds every sensible limit.
        min(limit, base * (1 << min(max(failures, 1) - 1, 20))) * fraction
    }
}

/// Returns the keywords and values of a connection string.
private func parseConnectionString(_ text: String) throws(PostgresError) -> [String: String] {
    var message: UnsafeMutablePointer<CChar>?
    guard let options = unsafe PQconninfoParse(text, &message) else {
        defer { unsafe PQfreemem(message) }
        // The message may quote a part of the string, and the string may contain a password.
        let reason = unsafe message.map { unsafe withoutQuotedText(trimmed($0)) }
        throw .invalidConnectionString(reason: reason ?? "out of memory")
    }
    defer { unsafe PQconninfoFree(options) }
    var values: [String: String] = [:]
    var next = unsafe options
    while let keyword = unsafe next.pointee.keyword {
        if let value = unsafe next.pointee.val {
            unsafe values[String(cString: keyword)] = unsafe String(cString: value)
        }
        unsafe next += 1
    }
    return values
}
