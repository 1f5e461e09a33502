import FoundationEssentials
public import GatewayCore

/// The use cases of a gateway whose clock shows the demo's week. They decide, sign, charge and record as those of every
/// gateway do.
public struct WeekGateway: Sendable {
    let clock: WeekClock
    let store: WeekStore
    let stores: AdminStores
    let presignedURLs: PresignedURLs
    let browserForms: BrowserForms
    let multipartUploads: MultipartUploads
    let confirmation: UploadConfirmation
    let sessions: Sessions
    let remoteSignatures: RemoteSignatures
    let storeEvents: any StoreEventRecords
    let authenticator: WeekAuthenticator
    let refusals: any RefusalJournal
    /// Writes the refusals that were counted and kept.
    let writeRefusals: @Sendable () async -> Void
    /// Settles the reservations that are due.
    let settle: @Sendable () async -> Void

    /// Puts the use cases together.
    public init(
        clock: WeekClock, store: WeekStore, stores: AdminStores, issuing: ProvenIssuing, cache: PolicyCache,
        multipartRows: any MultipartUploadRows, uploadRecords: any UploadRecords, remoteUploads: any RemoteUploadStore,
        storeEvents: any StoreEventRecords, authenticator: WeekAuthenticator, refusals: any RefusalJournal,
        writeRefusals: @escaping @Sendable () async -> Void, settle: @escaping @Sendable () async -> Void
    ) {
        let now: @Sendable () -> Date = { clock.now }
        self.clock = clock
        self.store = store
        self.stores = stores
        let signer = URLSigner()
        presignedURLs = PresignedURLs(issuing, signer: signer)
        browserForms = BrowserForms(issuing, signer: signer)
        multipartUploads = MultipartUploads(
            issuing, urls: presignedURLs, cache: cache, rows: multipartRows, store: store, life: .seconds(86_400),
            now: now)
        confirmation = UploadConfirmation(records: uploadRecords, objects: store)
        sessions = Sessions(issuing, sessions: SessionCache(opener: store, now: now))
        remoteSignatures = RemoteSignatures(issuing, cache: cache, uploads: remoteUploads)
        self.storeEvents = storeEvents
        self.authenticator = authenticator
        self.refusals = refusals
        self.writeRefusals = writeRefusals
        self.settle = settle
    }
}

/// Accepts the people of the demo's week by their names. It serves no listener.
public struct WeekAuthenticator: Authenticator {
    private let cache: PolicyCache

    /// Creates the authenticator.
    ///
    /// - Parameter cache: Supplies the policy position under which a caller is accepted.
    public init(cache: PolicyCache) {
        self.cache = cache
    }

    /// Returns the caller whose principal is the token.
    public func authenticate(_ token: Secret<String>) async throws(GatewayError) -> Caller {
        if cache.position == nil { try await cache.advance() }
        guard let position = cache.position else {
            throw .unavailable(retryAfter: 1, cause: "the position of policy is not known")
        }
        return Caller(
            principal: try Principal(token.reveal()), groups: [], roles: [], claims: [:], expiresAt: nil, token: token,
            scope: nil, position: position)
    }
}
