public import GatewayCore

/// What the operator decides about the API.
public struct APISettings: Sendable {
    /// Origins whose pages may call the routes for app users: `scheme://host[:port]`, or `*` for any.
    public var allowedOrigins: Set<String>
    /// Proxies whose word on the source of a request is trusted.
    public var trustedProxies: TrustedProxies
    /// How long a request may wait to be recorded.
    public var recordTimeout: Duration
    /// How much longer a request may take that opens a session.
    public var sessionTimeout: Duration
    /// Requests of one principal in a second, 1 to 1,000,000, of which twice as many may come at once; without limit
    /// where `nil`.
    public var requestsPerSecond: Int?
    /// Longest life of a ticket that is made, in seconds.
    public var ticketMaxAge: Int

    /// No origin and no proxy unless given.
    public init(
        allowedOrigins: Set<String> = [], trustedProxies: TrustedProxies = TrustedProxies(),
        recordTimeout: Duration = .seconds(5), sessionTimeout: Duration = .seconds(9),
        requestsPerSecond: Int? = nil, ticketMaxAge: Int = Ticket.maxLife
    ) {
        self.allowedOrigins = allowedOrigins
        self.trustedProxies = trustedProxies
        self.recordTimeout = recordTimeout
        self.sessionTimeout = sessionTimeout
        self.requestsPerSecond = requestsPerSecond
        self.ticketMaxAge = ticketMaxAge
    }
}
