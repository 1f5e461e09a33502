public import FoundationEssentials
import Synchronization

/// Keeps sessions in memory and shares them between equal orders. Each is opened once, even for concurrent requests,
/// and used as long as it has the life that a request needs.
///
/// The first request for an order opens the session, and the others wait for it. The cache needs no task of its own.
public final class SessionCache: Sendable {
    /// Limits for the size of the cache and the rate of requests to the token service.
    public struct Limits: Sendable {
        /// Maximum number of cached sessions.
        public var maxSessions: Int
        /// Maximum number of sessions opened per second, including retries by callers; services allow 100 per account.
        public var maxPerSecond: Int
        /// The share of a principal: a fifth, so that one of them cannot use up what is there for all.
        var maxPerPrincipal: Int { max(1, maxPerSecond / 5) }

        /// Creates the limits of a cache.
        public init(maxSessions: Int = 20_000, maxPerSecond: Int = 50) {
            self.maxSessions = maxSessions
            self.maxPerSecond = maxPerSecond
        }
    }

    private enum Turn {
        case found(SessionCredential)
        case lead
        case done(Result<SessionCredential, GatewayError>)
        case again
        case refused(Cause)
    }

    private struct State {
        var sessions: LeastRecentlyUsed<SessionOrder, SessionCredential>
        var opening: [SessionOrder: [CheckedContinuation<Turn, Never>]] = [:]
        /// Orders whose sessions are being opened and will not be kept.
        var discarded: Set<SessionOrder> = []
        /// Sessions that this gateway may still open.
        var budget: TokenBucket
        /// Sessions that each principal may still open. Full buckets are forgotten.
        let fullShare: TokenBucket
        var shares = LeastRecentlyUsed<Principal, TokenBucket>(maxCount: SessionCache.maxShares, maxCost: .max)

        /// Takes one session from what the principal and the gateway may open. Returns the limit that refuses it;
        /// otherwise `nil`.
        mutating func takeOpening(for principal: Principal, at instant: Date) -> Cause? {
            guard takeShare(of: principal, at: instant) else {
                return
                    "the principal opened a fifth of SLUICE_SESSIONS_PER_SECOND sessions in this second, the share of one"
            }
            guard budget.take(at: instant) else {
                return "SLUICE_SESSIONS_PER_SECOND sessions were opened in this second"
            }
            return nil
        }

        private mutating func takeShare(of principal: Principal, at instant: Date) -> Bool {
            if let isTaken = shares.withValue(for: principal, { $0.take(at: instant) }) { return isTaken }
            for _ in 0..<2 { shares.removeOldest { $0.isFull(at: instant) } }
            var share = fullShare
            let isTaken = share.take(at: instant)
            shares.insert(share, for: principal, cost: 1)
            return isTaken
        }
    }

    /// Largest number of principals whose openings are counted.
    private static let maxShares = 16_384

    private let opener: any SessionOpener
    private let now: @Sendable () -> Date
    private let state: Mutex<State>

    /// Creates an empty cache in front of a token service.
    public init(opener: any SessionOpener, limits: Limits = Limits(), now: @escaping @Sendable () -> Date) {
        self.opener = opener
        self.now = now
        func bucket(_ count: Int) -> TokenBucket { TokenBucket(burst: Double(count), perSecond: Double(count)) }
        state = Mutex(
            State(
                sessions: LeastRecentlyUsed(maxCount: limits.maxSessions, maxCost: .max),
                budget: bucket(limits.maxPerSecond), fullShare: bucket(limits.maxPerPrincipal)))
    }

    /// Number of cached sessions.
    package var count: Int { state.withLock { $0.sessions.count } }

    /// Forgets all sessions, so that later requests open new ones. A session that is being opened serves all who ask
    /// until it is there, and is not kept.
    package func discard() {
        state.withLock { state in
            state.sessions.removeAll()
            state.discarded.formUnion(state.opening.keys)
        }
    }

    /// Returns a session with at least `leastLife` seconds to live. It ends by `latestEnd`, if that is given.
    ///
    /// - Throws: The errors of opening a session; `unavailable` if the one that the service opened has another life;
    ///   `slowDown` if too many sessions are being opened, by the principal or by all.
    package func session(
        _ order: SessionOrder, endingBy latestEnd: Date?, leastLife: Int = SessionRequest.defaultLeastLife
    ) async throws(GatewayError) -> SessionCredential {
        let life = Life(least: TimeInterval(leastLife), latestEnd: latestEnd)
        while true {
            switch await turn(order, life) {
            case .found(let session): return session
            case .refused(let limit): throw .slowDown(retryAfter: 1, cause: limit)
            case .again: continue
            case .done(let result): return try checked(result, for: life)
            case .lead:
                let result = await outcome(of: order)
                finish(order, result, for: life)
                return try checked(result, for: life)
            }
        }
    }

    /// Returns a session that was just opened, for one of those who waited for it. It may have the life that some of
    /// them need and others do not.
    private func checked(
        _ result: Result<SessionCredential, GatewayError>, for life: Life
    ) throws(GatewayError) -> SessionCredential {
        let session = try result.get()
        guard life.isGood(session, at: now()) else {
            throw .unavailable(
                retryAfter: 60, cause: "the session that the service opened ends too early or too late")
        }
        return session
    }

    private func turn(_ order: SessionOrder, _ life: Life) async -> Turn {
        await withCheckedContinuation { continuation in
            let instant = now()
            let turn = state.withLock { state -> Turn? in
                // A session that ends too early or too late for this request stays: it may serve others if no new
                // one can be opened.
                if let session = state.sessions.value(for: order), life.isGood(session, at: instant) {
                    return .found(session)
                }
                if state.opening[order] != nil {
                    state.opening[order]?.append(continuation)
                    return nil
                }
                if let limit = state.takeOpening(for: order.principal, at: instant) { return .refused(limit) }
                state.opening[order] = []
                return .lead
            }
            if let turn { continuation.resume(returning: turn) }
        }
    }

    /// Opens a session. Nobody gets one that lives longer than ordered: the service ignored the duration, or its clock
    /// is ahead.
    private func outcome(of order: SessionOrder) async -> Result<SessionCredential, GatewayError> {
        do throws(GatewayError) {
            let session = try await opener.open(order)
            let life = session.expiresAt.timeIntervalSince(now())
            guard life <= TimeInterval(order.duration) + SessionRequest.leeway else {
                throw .unavailable(
                    retryAfter: 60,
                    cause: """
                        the session ends in \(Int(life)) s by this gateway's clock, although \(order.duration) s were \
                        ordered: the service ignored that, or the clocks differ
                        """)
            }
            return .success(session)
        } catch {
            return .failure(error)
        }
    }

    private func finish(_ order: SessionOrder, _ result: Result<SessionCredential, GatewayError>, for life: Life) {
        let instant = now()
        let waiters = state.withLock { state in
            let isDiscarded = state.discarded.remove(order) != nil
            // A session that does not do for whoever opened it takes no other's place.
            if case .success(let session) = result, !isDiscarded,
                life.isGood(session, at: instant) || state.sessions.value(for: order) == nil
            {
                state.sessions.insert(session, for: order, cost: 1)
            }
            return state.opening.removeValue(forKey: order) ?? []
        }
        // If the request that led was cancelled, only that request fails; those that wait try again.
        let turn: Turn = if case .failure = result, Task.isCancelled { .again } else { .done(result) }
        for waiter in waiters { waiter.resume(returning: turn) }
    }

    /// The life that a request needs.
    private struct Life {
        let least: TimeInterval
        let latestEnd: Date?

        func isGood(_ session: SessionCredential, at instant: Date) -> Bool {
            session.expiresAt.timeIntervalSince(instant) >= least && latestEnd.map { session.expiresAt <= $0 } ?? true
        }
    }
}
