import Dispatch
public import Logging
import Synchronization

/// Knows which of the configured servers is the primary. All connections of a gateway share one instance, in
/// ``PostgresConfiguration/primary``.
///
/// It remembers the system and the highest timeline that was ever seen. A server of the same system with a lower
/// timeline was the primary once: it is refused, and once a higher timeline is seen, each connection to an earlier one
/// ends, also in the middle of a statement. A connection is judged before its first statement, and a ``PrimaryWatch``
/// looks at all servers in the background, so a call never searches.
public final class Primary: Sendable {
    fileprivate struct State {
        /// What the last look at each host showed.
        var sightings: [Int: ServerSighting] = [:]
        /// Hosts that were refused at the last look, so that each has one line in the log.
        var stale: Set<Int> = []
        /// The host that serves; `nil` for none.
        var host: Int?
        /// The system, and its highest timeline so far.
        var identity: ServerIdentity?
        /// When a host began to serve after none did.
        var servesSince = ContinuousClock.now
        var waiters: [Weak] = []
        var sleepers: [UInt64: CheckedContinuation<Void, Never>] = [:]
        var nextSleeper: UInt64 = 0
        /// What ``onChange(_:)`` was given.
        var actions: [@Sendable () -> Void] = []
    }

    fileprivate struct Weak {
        weak var waiter: SocketWaiter?
    }

    private let state = Mutex(State())
    /// Rises whenever the connections so far must end.
    private let epoch = Atomic<UInt64>(0)
    private let timers = DispatchQueue(label: "postgres-primary")
    private let logger: Logger

    /// Creates an object that knows no server yet.
    ///
    /// - Parameter logger: Receives a line when another server or another system becomes the primary, and when a stale
    ///   server is refused.
    public init(logger: Logger) {
        self.logger = logger
    }

    /// Adds an action for when another timeline or system takes the place of the one before.
    ///
    /// - Parameter action: Runs before any connection to the new one is admitted. It must be short, and must not ask
    ///   this object anything.
    public func onChange(_ action: @escaping @Sendable () -> Void) {
        state.withLock { $0.actions.append(action) }
    }

    /// The system and the highest timeline seen; `nil` before the first look.
    public var identity: ServerIdentity? { state.withLock { $0.identity } }

    /// Whether some server serves.
    var serves: Bool { state.withLock { $0.host != nil } }

    /// Returns the host to connect to, by its place in the list.
    ///
    /// - Throws: ``PostgresError/unavailable(reason:)``, or the error of the only server, if none serves.
    func target() throws(PostgresError) -> Int {
        let (host, failure) = state.withLock { ($0.host, $0.host == nil ? $0.failure : nil) }
        guard let host else { throw failure ?? .unavailable(reason: "no server was looked at yet") }
        return host
    }

    /// Whether a server has begun to serve since an instant, after none did.
    func hasReturned(since instant: ContinuousClock.Instant) -> Bool {
        state.withLock { $0.host != nil && $0.servesSince > instant }
    }

    /// Whether it is still this host that serves.
    func isTarget(_ host: Int) -> Bool { state.withLock { $0.host == host } }
}

// MARK: - Judging

extension Primary {
    /// The right of a session to be used, until another timeline is seen.
    struct Admission: Sendable {
        fileprivate let primary: Primary
        fileprivate let epoch: UInt64

        /// Whether no later timeline has been seen.
        var isCurrent: Bool { primary.epoch.load(ordering: .acquiring) == epoch }
    }

    /// Judges a session by what it shows.
    ///
    /// - Throws: ``PostgresError/unavailable(reason:)`` if it leads to a standby or to a stale server, or if the last
    ///   looks found no server that serves.
    func admit(_ sighting: ServerSighting, at host: Int) throws(PostgresError) -> Admission {
        guard case .primary(let identity) = sighting else {
            doubt()
            throw .unavailable(reason: Self.standby)
        }
        // A login that took long may show what was: only a look may say that a server has lost its place.
        if isNew(identity) { note(sighting, at: host) }
        let (isKnown, current) = state.withLock { state -> (Bool, UInt64?) in
            // Another address may lead to the same server.
            let isKnown = state.identity == identity
            return (isKnown, isKnown && state.host != nil ? epoch.load(ordering: .relaxed) : nil)
        }
        guard let current else {
            doubt()
            throw .unavailable(reason: isKnown ? Self.vacant : Self.stale)
        }
        return Admission(primary: self, epoch: current)
    }

    /// Whether an identity comes after the known one.
    private func isNew(_ identity: ServerIdentity) -> Bool {
        guard let known = self.identity else { return true }
        return identity.system == known.system && identity.timeline > known.timeline
    }

    /// Notes what a look at a host showed, and chooses the server that serves.
    func note(_ sighting: ServerSighting, at host: Int) {
        var woken: [SocketWaiter] = []
        var hasMoved = false
        let lines = state.withLock { state in
            let before = (host: state.host, identity: state.identity)
            state.sightings[host] = sighting
            state.choose()
            if state.host != nil, before.host == nil { state.servesSince = .now }
            let hasChanged = before.identity != nil && state.identity != before.identity
            if hasChanged {
                epoch.add(1, ordering: .acquiringAndReleasing)
                for action in state.actions { action() }
            }
            hasMoved = hasChanged || state.host != before.host
            if hasMoved { woken = state.waiters.compactMap(\.waiter) }
            return state.lines(about: host, before: before.identity)
        }
        for line in lines { logger.log(level: line.level, "\(line.text)", metadata: line.metadata) }
        for waiter in woken { waiter.wake() }
        if hasMoved { doubt() }
    }

    fileprivate static let standby = "the server is a standby"
    fileprivate static let stale = "the server was the primary once; another one has taken its place"
    private static let vacant = "no server serves at the moment"
}

extension Primary.State {
    /// The servers that take writes, by their place in the list.
    private var primaries: [(host: Int, identity: ServerIdentity)] {
        var found: [(host: Int, identity: ServerIdentity)] = []
        for (host, sighting) in sightings {
            if case .primary(let identity) = sighting { found.append((host, identity)) }
        }
        return found.sorted { ($1.identity.timeline, $0.host) < ($0.identity.timeline, $1.host) }
    }

    /// Chooses the server with the highest timeline of the known system.
    ///
    /// Another system is taken only where none of the known one is to be seen: the database was then set up anew.
    fileprivate mutating func choose() {
        let primaries = primaries
        guard let known = identity else { return take(primaries.first) }
        let own = primaries.filter { $0.identity.system == known.system }
        guard own.isEmpty, !hasStandby(of: known.system) else {
            let best = own.first.flatMap { $0.identity.timeline >= known.timeline ? $0 : nil }
            // A second address of the same server is no reason to change.
            if let best, best.identity == known, own.contains(where: { $0.host == host && $0.identity == known }) {
                return
            }
            return take(best)
        }
        take(primaries.first)
    }

    private mutating func take(_ server: (host: Int, identity: ServerIdentity)?) {
        host = server?.host
        identity = server?.identity ?? identity
    }

    private func hasStandby(of system: String) -> Bool {
        sightings.values.contains { if case .standby(system: system) = $0 { true } else { false } }
    }

    /// Why no server serves.
    fileprivate var failure: PostgresError? {
        let failures = sightings.values.compactMap { sighting -> PostgresError? in
            if case .failed(let error) = sighting { error } else { nil }
        }
        // No waiting helps where each login is refused.
        let isRefused = failures.allSatisfy { if case .refused = $0 { true } else { false } }
        if failures.count == sightings.count, isRefused || failures.count == 1 { return failures.first }
        let reasons = sightings.sorted { $0.key < $1.key }.map { _, sighting in
            switch sighting {
            case .primary: Primary.stale
            case .standby: Primary.standby
            case .failed(let error): "\(error)"
            }
        }
        guard !reasons.isEmpty else { return nil }
        return .unavailable(reason: reasons.enumerated().map { "server \($0 + 1): \($1)" }.joined(separator: "; "))
    }

    /// The lines for the log after a look at a host.
    fileprivate mutating func lines(
        about host: Int, before: ServerIdentity?
    ) -> [(level: Logger.Level, text: String, metadata: Logger.Metadata)] {
        var lines: [(level: Logger.Level, text: String, metadata: Logger.Metadata)] = []
        if let before, let identity, identity != before {
            let text =
                identity.system == before.system
                ? "another server is the primary; connections to the one before end"
                : "the database belongs to another system; connections to the one before end"
            lines.append(
                (
                    .warning, text,
                    [
                        "timeline": "\(identity.timeline)", "timeline.before": "\(before.timeline)",
                        "system": "\(identity.system)", "system.before": "\(before.system)",
                    ]
                ))
        }
        guard case .primary(let seen)? = sightings[host], let identity, seen != identity else {
            // A server that cannot be reached may come back as what it was.
            if case .failed? = sightings[host] {} else { stale.remove(host) }
            return lines
        }
        if stale.insert(host).inserted {
            lines.append(
                (
                    .warning, "a server that is not the primary any more takes writes; it is refused",
                    [
                        "server": "\(host + 1)", "timeline": "\(seen.timeline)", "system": "\(seen.system)",
                        "timeline.primary": "\(identity.timeline)", "system.primary": "\(identity.system)",
                    ]
                ))
        }
        return lines
    }
}

// MARK: - Waiting

extension Primary {
    /// Wakes a waiter whenever another server becomes the primary, or none is.
    func wakes(_ waiter: SocketWaiter) {
        state.withLock { state in
            state.waiters.removeAll { $0.waiter == nil }
            state.waiters.append(Weak(waiter: waiter))
        }
    }

    /// Asks for a look at once, since a connection was lost or refused.
    func doubt() {
        for sleeper in state.withLock({ exchange(&$0.sleepers, with: [:]) }).values { sleeper.resume() }
    }

    /// Waits for a time, or until somebody doubts the primary.
    func untilDoubt(atMost time: Duration) async {
        let id = state.withLock { state in
            state.nextSleeper += 1
            return state.nextSleeper
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isCancelled = state.withLock { state in
                    // Under the lock: a cancellation before this point finds no sleeper.
                    if Task.isCancelled { return true }
                    state.sleepers[id] = continuation
                    return false
                }
                guard !isCancelled else { return continuation.resume() }
                timers.asyncAfter(deadline: .now() + time / .seconds(1)) { [weak self] in self?.wake(id) }
            }
        } onCancel: {
            wake(id)
        }
    }

    private func wake(_ id: UInt64) {
        state.withLock { $0.sleepers.removeValue(forKey: id) }?.resume()
    }
}
