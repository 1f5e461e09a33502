import CLibPQ

/// How to reach a server and what each session starts with.
public struct PostgresConfiguration: Sendable {
    /// Parameters of the connection by libpq keyword, as the connection string gives them.
    let parameters: [String: String]
    /// The servers to try, in order; each overrides the parameters.
    let hosts: [[String: String]]

    /// Settings of each session by name, for example `("statement_timeout", "5s")`; set once connected, in order.
    public var sessionSettings: [(name: String, value: String)]
    /// The same with what every session needs: warnings tell that a commit may not stand, so that nobody else decides
    /// whether they are sent.
    var settings: [(name: String, value: String)] { sessionSettings + [("client_min_messages", "warning")] }
    /// How long to wait for one server of the list before the next is tried.
    public var connectTimeout: Duration
    /// How long a call without a deadline waits for the server's answer.
    public var responseTimeout: Duration
    /// How long the server has to confirm a cancellation before the connection is given up.
    public var cancelTimeout: Duration
    /// How long to leave a server alone after failed attempts.
    public var backoff: Backoff
    /// Where failures of the connections are gathered; without it each has its line in the log.
    public var outage: Outage?

    /// Reads a connection string.
    ///
    /// - Parameters:
    ///   - connectionString: Keywords and values or a URI, with one or several hosts; `target_session_attrs=read-write`
    ///     chooses the primary among them. What it leaves out of application name, keepalive and TCP time limits is
    ///     given values here that notice a dead server in about half a minute.
    ///   - password: Goes before the one of the connection string, if that has one.
    ///   - applicationName: Shown in `pg_stat_activity`.
    ///   - sessionSettings: Settings of each session, after `TimeZone` = `UTC`.
    ///   - connectTimeout: How long to wait for one server of the list.
    ///   - responseTimeout: How long a call without a deadline waits for an answer.
    /// - SeeAlso: PostgreSQL 15 documentation, 34.1.1 "Connection Strings".
    public init(
        connectionString: String, password: String? = nil, applicationName: String,
        sessionSettings: [(name: String, value: String)] = [],
        connectTimeout: Duration = .seconds(3), responseTimeout: Duration = .seconds(30)
    ) throws(PostgresError) {
        var parameters = [
            "application_name": applicationName, "keepalives_idle": "10", "keepalives_interval": "5",
            "keepalives_count": "3", "tcp_user_timeout": "15000",
        ]
        parameters.merge(try parseConnectionString(connectionString)) { $1 }
        if let password { parameters["password"] = password }
        // Text travels as UTF-8 only, whatever the environment says.
        parameters["client_encoding"] = "UTF8"
        self.hosts = try Self.splitHosts(parameters)
        self.parameters = parameters
        self.sessionSettings = [("TimeZone", "UTC")] + sessionSettings
        self.connectTimeout = connectTimeout
        self.responseTimeout = responseTimeout
        self.cancelTimeout = .seconds(2)
        self.backoff = Backoff()
    }

    /// Whether the connection string holds a password, or one was given with it.
    public var hasPassword: Bool { parameters["password"] != nil }

    /// One set of overrides for each host of the comma-separated lists; they are tried one by one here, not by libpq,
    /// because its own time limit for a host exists only in its blocking call, which cannot be given up.
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
        return (0..<count).map { index in
            var host: [String: String] = [:]
            host["host"] = names?[index]
            host["hostaddr"] = addresses?[index]
            host["port"] = ports.map { $0.count == 1 ? $0[0] : $0[index] }
            return host
        }
    }
}

/// The waits between attempts to connect: exponential, with full jitter so that many gateways do not return at once.
///
/// - SeeAlso: AWS Architecture Blog, "Exponential Backoff And Jitter".
public struct Backoff: Sendable {
    /// The most to wait after the first failure.
    public var base: Duration
    /// The most to wait after any number of failures.
    public var limit: Duration

    /// Sets the bounds.
    public init(base: Duration = .milliseconds(100), limit: Duration = .seconds(5)) {
        self.base = base
        self.limit = limit
    }

    /// The wait after a number of failures in a row.
    ///
    /// - Parameters:
    ///   - failures: 1 or more.
    ///   - fraction: The jitter, evenly distributed in 0..<1.
    public func delay(afterFailures failures: Int, fraction: Double) -> Duration {
        // 2^20 bases are beyond every sensible limit.
        min(limit, base * (1 << min(max(failures, 1) - 1, 20))) * fraction
    }
}

/// The keywords and values that a connection string gives.
private func parseConnectionString(_ text: String) throws(PostgresError) -> [String: String] {
    var message: UnsafeMutablePointer<CChar>?
    guard let options = unsafe PQconninfoParse(text, &message) else {
        defer { unsafe PQfreemem(message) }
        // The message may quote a part of the string, and the string may hold a password.
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
