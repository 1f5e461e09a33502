public import FoundationEssentials

/// An issuer where people sign in to the console.
public struct SignInIssuer: Sendable, Equatable {
    /// Identifier of the issuer's row.
    public var id: UUID
    /// The `iss` claim of its tokens.
    public var issuer: String
    /// How people sign in.
    public var console: ConsoleSignIn

    /// Creates an issuer.
    public init(id: UUID, issuer: String, console: ConsoleSignIn) {
        self.id = id
        self.issuer = issuer
        self.console = console
    }
}

/// Where objects of buckets are.
public struct StoreSite: Sendable, Hashable {
    /// Origin of the store, as buckets have it.
    public var endpoint: String
    /// Whether the names of buckets precede the host.
    public var hasBucketsAsHosts: Bool

    /// Creates a site.
    public init(endpoint: String, hasBucketsAsHosts: Bool) {
        self.endpoint = endpoint
        self.hasBucketsAsHosts = hasBucketsAsHosts
    }
}

/// What the pages of the console need before anybody has signed in.
public struct ConsoleSurroundings: Sendable, Equatable {
    /// The issuers where people sign in, sorted by name.
    public var issuers: [SignInIssuer]
    /// The stores to which the browser uploads, sorted.
    public var stores: [StoreSite]

    /// The largest number of issuers, and of stores.
    public static let maxCount = 64

    /// Puts the lists together.
    public init(issuers: [SignInIssuer] = [], stores: [StoreSite] = []) {
        self.issuers = issuers
        self.stores = stores
    }
}

/// Reads what the pages of the console need.
public protocol ConsoleDirectory: Sendable {
    /// Reads at most ``ConsoleSurroundings/maxCount`` rows of each kind.
    ///
    /// - Throws: `unavailable`.
    func surroundings() async throws(GatewayError) -> ConsoleSurroundings
}
