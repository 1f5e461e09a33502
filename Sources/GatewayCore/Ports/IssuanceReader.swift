public import Foundation

/// Reads the ledger.
public protocol IssuanceReader: Sendable {
    /// Reads a page of issuances, newest first.
    ///
    /// - Throws: `invalidArgument` for a token that is not ours, `unavailable`.
    func issuances(_ query: IssuanceQuery) async throws(GatewayError) -> Page<RecordedIssuance>
}

/// Which issuances to list.
public struct IssuanceQuery: Sendable {
    /// Only those that are not dead yet by the database's clock.
    public var isAlive: Bool
    /// Rows on a page, 1…1,000.
    public var pageSize: Int
    /// Where to go on, as a former page said.
    public var pageToken: String?

    /// Puts a query together.
    public init(isAlive: Bool = false, pageSize: Int = 100, pageToken: String? = nil) {
        self.isAlive = isAlive
        self.pageSize = pageSize
        self.pageToken = pageToken
    }
}

/// A row of the ledger, as it was written.
public struct RecordedIssuance: Sendable, Equatable {
    /// UUIDv7.
    public var id: UUID
    /// When it was recorded, by the database's clock.
    public var issuedAt: Date
    /// Until when what was issued can be used.
    public var expiresAt: Date
    /// How it left, as ``Delivery``.
    public var delivery: String
    /// The caller.
    public var principal: String
    /// The principal of the grant that decided.
    public var matchedPrincipal: String
    /// The grant that decided.
    public var grantID: UUID
    /// The credential that signed.
    public var credentialID: UUID
    /// What it permits.
    public var actions: [String]
    /// The method that is bound; `*` for temporary credentials.
    public var method: String
    /// Where.
    public var bucket: String
    /// On what: a key; of temporary credentials the prefix.
    public var key: String
    /// Identifier of the request, as in logs.
    public var requestID: String

    /// Puts a row together.
    public init(
        id: UUID, issuedAt: Date, expiresAt: Date, delivery: String, principal: String, matchedPrincipal: String,
        grantID: UUID, credentialID: UUID, actions: [String], method: String, bucket: String, key: String,
        requestID: String
    ) {
        self.id = id
        self.issuedAt = issuedAt
        self.expiresAt = expiresAt
        self.delivery = delivery
        self.principal = principal
        self.matchedPrincipal = matchedPrincipal
        self.grantID = grantID
        self.credentialID = credentialID
        self.actions = actions
        self.method = method
        self.bucket = bucket
        self.key = key
        self.requestID = requestID
    }
}
