public import GatewayCore

/// The operator's settings for the API.
public struct APISettings: Sendable {
    /// Origins whose pages may call the routes for app users: `scheme://host[:port]`, or `*` for any.
    public var allowedOrigins: Set<String>
    /// Proxies that are trusted to name the source of a request.
    public var trustedProxies: TrustedProxies
    /// Requests that one principal may send per second, 1 to 1,000,000; `nil` for no limit. Twice as many may arrive at
    /// once.
    public var requestsPerSecond: Int?
    /// Longest lifetime of a new ticket, in seconds.
    public var ticketMaxAge: Int
    /// Origin under which clients reach the gateway, for links to the gateway itself; `nil` for none.
    public var publicURL: String?
    /// The version of the program.
    public var version: String

    /// Puts the settings together. By default, no origin is allowed and no proxy is trusted.
    public init(
        allowedOrigins: Set<String> = [], trustedProxies: TrustedProxies = TrustedProxies(),
        requestsPerSecond: Int? = nil, ticketMaxAge: Int = Ticket.maxLife, publicURL: String? = nil,
        version: String = ""
    ) {
        self.allowedOrigins = allowedOrigins
        self.trustedProxies = trustedProxies
        self.requestsPerSecond = requestsPerSecond
        self.ticketMaxAge = ticketMaxAge
        self.publicURL = publicURL
        self.version = version
    }
}
