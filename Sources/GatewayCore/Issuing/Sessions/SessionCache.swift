public import Foundation
import Synchronization

/// Sessions in memory, shared by equal orders: opened once, however many ask, and used until ten minutes before they end.
///
/// Who asks first opens the session; the others wait for it. No task of its own is needed.
public final class SessionCache: Sendable {
    /// How much is kept, and how often a service is asked.
    public struct Limits: Sendable {
        /// Most sessions that are kept.
        public var maxSessions: Int
        /// Most sessions that are opened in a second, also by retries of callers; services allow 100 per account.
        public var maxPerSecond: Int

        /// Sets the limits.
        public init(maxSessions: Int = 20_000, maxPerSecond: Int = 50) {
            self.maxSessions = maxSessions
            self.maxPerSecond = maxPerSecond
        }
    }

    /// Least life of a session that is handed out, in seconds.
    public static let leastLife: TimeInterval = 600

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
        /// Openings that are left, and when they were last added to.
        var budget: Double
        var refilledAt: Date?
    }

    private let opener: any SessionOpener
    private let limits: Limits
    private let now: @Sendable () -> Date
    private let state: Mutex<State>

    /// Makes an empty cache before a service.
    public init(opener: any SessionOpener, limits: Limits = Limits(), now: @escaping @Sendable () -> Date) {
        self.opener = opener
        self.limits = limits
        self.now = now
        state = Mutex(
            State(
                sessions: LeastRecentlyUsed(maxCount: limits.maxSessions, maxCost: .max),
                budget: Double(limits.maxPerSecond)))
    }

    /// Sessions that are held, for metrics.
    public var count: Int { state.withLock { $0.sessions.count } }

    /// Gives a session that lives for ten minutes at the least, and ends before a time if one is given.
    ///
    /// - Throws: What opening throws, and `slowDown` when too many are being opened.
    package func session(_ order: SessionOrder, endingBy latestEnd: Date?) async throws(GatewayError)
        -> SessionCredential
    {
        while true {
            switch await turn(order, latestEnd) {
            case .found(let session): return session
            case .refused:
                throw .slowDown(retryAfter: 1, cause: "SLUICE_SESSIONS_PER_SECOND sessions were opened in this second")
            case .again: continue
            case .done(let result): return try result.get()
            case .lead:
                let result = await outcome(of: order, latestEnd)
                finish(order, result)
                return try result.get()
            }
        }
    }

    private func turn(_ order: SessionOrder, _ latestEnd: Date?) async -> Turn {
        await withCheckedContinuation { continuation in
            let instant = now()
            let turn = state.withLock { state -> Turn? in
                if let session = state.sessions.value(for: order) {
                    if Self.isGood(session, at: instant, latestEnd) { return .found(session) }
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
        of order: SessionOrder, _ latestEnd: Date?
    ) async -> Result<SessionCredential, GatewayError> {
        do throws(GatewayError) {
            let session = try await opener.open(order)
            // A service whose clock is wrong, or that does as it likes.
            guard Self.isGood(session, at: now(), latestEnd) else {
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
        // Who led and was cancelled fails alone.
        let turn: Turn = if case .failure = result, Task.isCancelled { .again } else { .done(result) }
        for waiter in waiters { waiter.resume(returning: turn) }
    }

    private static func isGood(_ session: SessionCredential, at instant: Date, _ latestEnd: Date?) -> Bool {
        session.expiresAt.timeIntervalSince(instant) >= leastLife && latestEnd.map { session.expiresAt <= $0 } ?? true
    }
}
