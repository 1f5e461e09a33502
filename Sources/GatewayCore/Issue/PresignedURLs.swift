public import Foundation

/// Issues presigned URLs: look up, decide, sign, record, answer.
///
/// Decisions are made from memory and proved when they are recorded; nothing is answered that is not on record.
public struct PresignedURLs: Sendable {
    private let cache: PolicyCache
    private let authenticator: any Authenticator
    private let now: @Sendable () -> Date
    let ledger: any IssuanceLedger
    let randomBytes: @Sendable (Int) throws -> [UInt8]
    let signer = URLSigner()

    // A script that changes a hundred rows a second for one group lets about one attempt in ten of its members through. Who
    // runs out of attempts has met something wilder; the deadline mostly comes first.
    private static let maxAttempts = 32

    /// Puts the use case together.
    ///
    /// - Parameters:
    ///   - cache: The rows to decide by.
    ///   - authenticator: Checks a caller's token anew when policy changed meanwhile.
    ///   - ledger: Where issuances are proved, charged and recorded.
    ///   - now: The clock that stores compare with.
    ///   - randomBytes: As many bytes as asked for that nobody can predict.
    public init(
        cache: PolicyCache, authenticator: any Authenticator, ledger: any IssuanceLedger,
        now: @escaping @Sendable () -> Date, randomBytes: @escaping @Sendable (Int) throws -> [UInt8]
    ) {
        self.cache = cache
        self.authenticator = authenticator
        self.ledger = ledger
        self.now = now
        self.randomBytes = randomBytes
    }

    /// Issues a URL.
    ///
    /// A refusal rests on policy as it is committed: what memory refuses is decided again after the log of changes is read,
    /// so that a grant works from the moment it is made.
    /// - Parameters:
    ///   - request: What is asked for.
    ///   - caller: Who asks, authenticated.
    ///   - sourceAddress: Where the request came from; `nil` where that cannot be known.
    ///   - requestID: Identifier of the request, as in logs.
    ///   - deadline: After this nothing is recorded any more.
    /// - Throws: The refusal, or `slowDown`, `unavailable`, `unauthenticated`, `expiredToken`. No URL exists then that left.
    public func issue(
        _ request: IssueRequest, for caller: Caller, sourceAddress: IPAddress?, requestID: String,
        deadline: ContinuousClock.Instant
    ) async throws(GatewayError) -> IssuedURL {
        var caller = caller
        var isConfirmed = false
        for _ in 0..<Self.maxAttempts {
            let policy = try await cache.access(
                of: caller.principal, groups: caller.groups, to: request.bucket, key: request.key
            )
            let instant = now()
            if let end = caller.expiresAt, end <= instant { throw .expiredToken }
            let decision = decide(
                request, for: caller.subject, under: policy, sourceAddress: sourceAddress, now: instant
            )
            switch decision {
            // No position covers both the caller's token and the rows: only after a failover or a restart of the cache.
            case _ where !caller.position.mayPrecede(policy.position): break
            case .permit(let permit):
                let issuance = try prepare(request, permit, caller, policy, requestID)
                switch try await ledger.record(issuance.proposal, deadline: deadline) {
                case .recorded(let remaining): return issuance.answer(remaining: remaining)
                case .quotaExceeded(let refusal): throw refused(.quotaExceeded(refusal), caller, policy)
                case .stale: break
                }
            case .refuse(let refusal):
                guard !isConfirmed else { throw refused(refusal.error, caller, policy) }
            }
            try await cache.advance()
            isConfirmed = true
            caller = try await authenticator.authenticate(caller.token)
        }
        throw .slowDown(retryAfter: 1)
    }
}
