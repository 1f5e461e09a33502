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
        case refused
    }

    private struct State {
        var sessions: LeastRecentlyUsed<SessionOrder, SessionCredential>
        var opening: [SessionOrder: [CheckedContinuation<Turn, Never>]] = [:]
        /// Sessions that may still be opened, and when this number last grew.
        var budget: Double
        var refilledAt: Date?
    }

    private let opener: any SessionOpener
    private let limits: Limits
    private let now: @Sendable () -> Date
    private let state: Mutex<State>

    /// Creates an empty cache in front of a token service.
    public init(opener: any SessionOpener, limits: Limits = Limits(), now: @escaping @Sendable () -> Date) {
        self.opener = opener
        self.limits = limits
        self.now = now
        state = Mutex(
            State(
                sessions: LeastRecentlyUsed(maxCount: limits.maxSessions, maxCost: .max),
                budget: Double(limits.maxPerSecond)))
    }

    /// Number of cached sessions, for metrics.
    public var count: Int { state.withLock { $0.sessions.count } }

    /// Returns a session with at least `leastLife` seconds to live. It ends by `latestEnd`, if that is given.
    ///
    /// - Throws: The errors of opening a session; `slowDown` if too many sessions are being opened.
    package func session(
        _ order: SessionOrder, endingBy latestEnd: Date?, leastLife: Int = SessionRequest.defaultLeastLife
    ) async throws(GatewayError) -> SessionCredential {
        let life = Life(least: TimeInterval(leastLife), latestEnd: latestEnd)
        while true {
            switch await turn(order, life) {
            case .found(let session): return session
            case .refused:
                throw .slowDown(retryAfter: 1, cause: "SLUICE_SESSIONS_PER_SECOND sessions were opened in this second")
            case .again: continue
            case .done(let result): return try result.get()
            case .lead:
                let result = await outcome(of: order, life)
                finish(order, result)
                return try result.get()
            }
        }
    }

    private func turn(_ order: SessionOrder, _ life: Life) async -> Turn {
        await withCheckedContinuation { continuation in
            let instant = now()
            let turn = state.withLock { state -> Turn? in
                if let session = state.sessions.value(for: order) {
                    if life.isGood(session, at: instant) { return .found(session) }
                    state.sessions.remove(order)
                }
                if state.opening[order] != nil {
                    state.opening[order]?.append(continuation)
                    return nil
                }
                guard takeBudget(&state, at: instant) else { return .refused }
                state.opening[order] = []
                return .lead
            }
            if let turn { continuation.resume(returning: turn) }
        }
    }

    private func takeBudget(_ state: inout State, at instant: Date) -> Bool {
        let most = Double(limits.maxPerSecond)
        let passed = max(0, instant.timeIntervalSince(state.refilledAt ?? instant))
        state.budget = min(most, state.budget + passed * most)
        state.refilledAt = instant
        guard state.budget >= 1 else { return false }
        state.budget -= 1
        return true
    }

    private func outcome(
        of order: SessionOrder, _ life: Life
    ) async -> Result<SessionCredential, GatewayError> {
        do throws(GatewayError) {
            let session = try await opener.open(order)
            // The service's clock is wrong, or the service ignored the requested duration.
            guard life.isGood(session, at: now()) else {
                throw .unavailable(
                    retryAfter: 60, cause: "the session that the service opened ends too early or too late")
            }
            return .success(session)
        } catch {
            return .failure(error)
        }
    }

    private func finish(_ order: SessionOrder, _ result: Result<SessionCredential, GatewayError>) {
        let waiters = state.withLock { state in
            if case .success(let session) = result { state.sessions.insert(session, for: order, cost: 1) }
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
