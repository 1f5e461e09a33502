import FoundationEssentials
import GatewayCore
import JOSE
import Logging
import Synchronization

/// The keys of one issuer's row. They are read once or, for a URL, fetched and kept. They are fetched again when they
/// are old or lack a `kid`.
///
/// The keys fetched last remain in force for as long as the issuer does not answer.
final class IssuerKeys: Sendable {
    /// The state of the row to which the keys belong.
    let revision: UUID
    private let shelf: Shelf
    private let loads: Gathering<Bool, Void>

    init(
        of issuer: Stored<Issuer>, fetcher: any KeySetFetcher, now: @escaping @Sendable () -> Date, logger: Logger
    ) {
        let shelf = Shelf(of: issuer.row, fetcher: fetcher, now: now, logger: logger)
        revision = issuer.revision
        self.shelf = shelf
        loads = Gathering(joinsCurrent: true) { _ throws(GatewayError) in try await shelf.load() }
    }

    /// Returns the keys that are held. One caller fetches new ones before they are too old; the others get the held
    /// keys at once. Once they are too old, every caller waits for the fetch, and gets the old keys only if it fails.
    /// After a failed fetch, one caller tries again each minute, and the others get the old keys meanwhile. If nobody
    /// has tried for two minutes, all wait again.
    ///
    /// - Throws: `unavailable` where no keys were ever read.
    func current() async throws(GatewayError) -> KeySet {
        let (keys, isDue) = shelf.look()
        if let keys, !isDue { return keys }
        do throws(GatewayError) {
            try await loads.run([true])
        } catch {
            if let keys { return keys }
            throw error
        }
        return try shelf.keys()
    }

    /// Fetches the keys again, if a fetch is due, and returns them. Concurrent callers share one fetch.
    ///
    /// - Throws: `unavailable` if the last fetch failed. The issuer may have keys then that are not held.
    func refreshed() async throws(GatewayError) -> KeySet {
        try await loads.run([true])
        return try shelf.keys()
    }
}

/// Holds the keys and the time of their last fetch.
private final class Shelf: Sendable {
    /// Age in seconds after which a key set is fetched again.
    private static let renewalAge: TimeInterval = 540

    private struct State {
        var keys: KeySet?
        var document: [UInt8] = []
        var fetchedAt: Date?
        var triedAt: Date?
        /// Why the last fetch failed; `nil` if it succeeded.
        var failure: GatewayError?
    }

    private let issuer: Issuer
    private let fetcher: any KeySetFetcher
    private let now: @Sendable () -> Date
    private let logger: Logger
    private let state = Mutex(State())

    init(
        of issuer: Issuer, fetcher: any KeySetFetcher, now: @escaping @Sendable () -> Date, logger: Logger
    ) {
        self.issuer = issuer
        self.fetcher = fetcher
        self.now = now
        self.logger = logger
    }

    /// Returns the keys that are held, and whether the caller must wait for a fetch.
    func look() -> (KeySet?, isDue: Bool) {
        let now = now()
        return state.withLock { state in
            guard let keys = state.keys else { return (nil, true) }
            guard case .url = issuer.keys, Refetching.hasPassed(Self.renewalAge, since: state.fetchedAt, at: now) else {
                return (keys, false)
            }
            // Without a failure, a fetch of a key set this old is under way or has yet to begin.
            let isTooOld =
                state.failure == nil && Refetching.hasPassed(Refetching.maxAge, since: state.fetchedAt, at: now)
            return (keys, isTooOld || Refetching.hasPassed(Refetching.minInterval, since: state.triedAt, at: now))
        }
    }

    /// Returns the keys that are held.
    func keys() throws(GatewayError) -> KeySet {
        guard let keys = state.withLock({ $0.keys }) else { throw missing("were not read yet") }
        return keys
    }

    /// Reads the keys; does nothing if that was tried a short while ago.
    ///
    /// - Throws: `unavailable` if this fetch, or the one a short while ago, failed.
    func load() async throws(GatewayError) {
        switch issuer.keys {
        case .url(let url):
            let start = now()
            let (isTurn, failure) = state.withLock { state -> (Bool, GatewayError?) in
                guard mayTry(state, at: start) else { return (false, state.failure) }
                // A failure of a while ago does not tell that this fetch will fail, so nobody gets old keys meanwhile.
                if Refetching.hasPassed(2 * Refetching.minInterval, since: state.triedAt, at: start) {
                    state.failure = nil
                }
                state.triedAt = start
                return (true, nil)
            }
            if let failure { throw failure }
            if isTurn { try await fetch(url) }
        case .inline(let text):
            guard state.withLock({ $0.keys == nil }) else { return }
            let keys = KeySet(document: Array(text.utf8), algorithms: issuer.algorithms)
            hold(keys ?? KeySet([]))
        case .secret(let secret):
            guard state.withLock({ $0.keys == nil }) else { return }
            hold(KeySet([VerificationKey(secret: Array(secret.reveal().utf8))].compactMap(\.self)))
        }
    }

    private func fetch(_ url: String) async throws(GatewayError) {
        let document: [UInt8]
        do throws(GatewayError) {
            document = try await fetcher.keySet(at: url)
        } catch {
            logger.warning("key set not fetched", metadata: ["issuer": "\(issuer.issuer)"])
            throw failed("cannot be fetched: \(error.cause ?? .unstated)")
        }
        let time = now()
        let isUnchanged = state.withLock { state in
            guard state.keys != nil, state.document == document else { return false }
            state.fetchedAt = time
            state.failure = nil
            return true
        }
        if isUnchanged { return }
        guard let keys = KeySet(document: document, algorithms: issuer.algorithms) else {
            logger.warning("key set is malformed", metadata: ["issuer": "\(issuer.issuer)"])
            throw failed("are malformed")
        }
        hold(keys, from: document, at: time)
    }

    /// Notes that a fetch failed.
    private func failed(_ reason: String) -> GatewayError {
        let failure = missing(reason)
        state.withLock { $0.failure = failure }
        return failure
    }

    /// Nobody whom the issuer vouches for can be known until its keys are there.
    private func missing(_ reason: String) -> GatewayError {
        .unavailable(
            retryAfter: Int(Refetching.retry.rounded(.up)),
            cause: "the keys of issuer \(issuer.id.lowercaseText) \(reason)")
    }

    private func hold(_ keys: KeySet, from document: [UInt8] = [], at time: Date? = nil) {
        if keys.isEmpty {
            logger.warning("no key of the issuer can be used", metadata: ["issuer": "\(issuer.issuer)"])
        }
        state.withLock { state in
            state.keys = keys
            state.document = document
            state.fetchedAt = time
            state.failure = nil
        }
    }

    private func mayTry(_ state: State, at time: Date) -> Bool {
        Refetching.hasPassed(
            state.failure == nil ? Refetching.minInterval : Refetching.retry, since: state.triedAt, at: time)
    }
}
