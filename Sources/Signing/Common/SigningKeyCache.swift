import LibCrypto
import Synchronization

/// Keeps signing keys, so that each is made once: of "version 4" per credential, scope and day, of "version 2" per credential.
/// Safe to share between threads.
public final class SigningKeyCache: Sendable {
    private struct Identity4: Hashable {
        let credential: ExactCredential
        let scope: CredentialScope
        let dayNumber: Int

        func hash(into hasher: inout Hasher) {
            hasher.combine(credential)
            hasher.combine(dayNumber)
        }

        /// Whether it is made of these.
        func matches(_ credential: SigningCredential, _ scope: CredentialScope, _ dayNumber: Int) -> Bool {
            self.dayNumber == dayNumber && self.scope.matches(scope) && self.credential.matches(credential)
        }

        static func == (left: Identity4, right: Identity4) -> Bool {
            left.matches(right.credential.credential, right.scope, right.dayNumber)
        }
    }

    private struct Identity2: Hashable {
        let credential: ExactCredential
        let isServiceAccount: Bool
    }

    private let version4: LeastRecentlyUsedKeys<Identity4, SigningKeyV4>
    private let version2: LeastRecentlyUsedKeys<Identity2, SigningKeyV2>

    /// Makes a cache of at most `capacity` keys of each version, at least one; the least recently used leaves first.
    public init(capacity: Int) {
        version4 = LeastRecentlyUsedKeys(capacity: capacity)
        version2 = LeastRecentlyUsedKeys(capacity: capacity)
    }

    /// Number of keys held.
    public var count: Int {
        version4.count + version2.count
    }

    /// The key of a credential for the day of an instant, derived unless it is held.
    ///
    /// - Throws: As ``SigningKeyV4/init(_:scope:at:)``.
    public func key(
        for credential: SigningCredential, scope: CredentialScope, at instant: SigningInstant
    ) throws(SigningError) -> SigningKeyV4 {
        let dayNumber = instant.dayNumber
        if let latest = version4.latest(where: { $0.matches(credential, scope, dayNumber) }) { return latest }
        let identity = Identity4(
            credential: ExactCredential(credential: credential), scope: scope, dayNumber: dayNumber)
        return try version4.key(for: identity) { () throws(SigningError) in
            try SigningKeyV4(credential, scope: scope, at: instant)
        }
    }

    /// The "version 2" key of a credential, prepared unless it is held.
    ///
    /// - Throws: As ``SigningKeyV2/init(_:)``.
    public func key(for credential: SigningCredential) throws(SigningError) -> SigningKeyV2 {
        if let latest = version2.latest(where: { !$0.isServiceAccount && $0.credential.matches(credential) }) {
            return latest
        }
        let identity = Identity2(credential: ExactCredential(credential: credential), isServiceAccount: false)
        return try version2.key(for: identity) { () throws(SigningError) in try SigningKeyV2(credential) }
    }

    /// The "version 2" key of a service account, prepared unless it is held.
    ///
    /// - Throws: As ``SigningKeyV2/init(serviceAccount:)``.
    public func key(forServiceAccount credential: SigningCredential) throws(SigningError) -> SigningKeyV2 {
        let identity = Identity2(credential: ExactCredential(credential: credential), isServiceAccount: true)
        return try version2.key(for: identity) { () throws(SigningError) in
            try SigningKeyV2(serviceAccount: credential)
        }
    }
}

/// A credential that compares by bytes: two secrets that are canonically equivalent as text make different keys.
private struct ExactCredential: Hashable {
    let credential: SigningCredential

    // Tokens are long, and the access key id tells credentials apart as well.
    func hash(into hasher: inout Hasher) {
        hasher.combine(credential.accessKeyID)
    }

    static func == (left: ExactCredential, right: ExactCredential) -> Bool {
        left.matches(right.credential)
    }

    func matches(_ other: SigningCredential) -> Bool {
        credential.accessKeyID.isSameBytes(as: other.accessKeyID)
            && credential.secretAccessKey.isSameBytes(as: other.secretAccessKey)
            && Self.matches(credential.securityToken, other.securityToken)
    }

    private static func matches(_ left: String?, _ right: String?) -> Bool {
        switch (left, right) {
        case (nil, nil): true
        case (let left?, let right?): left.isSameBytes(as: right)
        default: false
        }
    }
}

/// A bounded number of keys; the least recently used leaves first.
private final class LeastRecentlyUsedKeys<Identity: Hashable & Sendable, Key: Sendable>: Sendable {
    private struct Entry {
        let key: Key
        var lastUse: UInt64
    }

    // A class, so that to look at it copies nothing.
    private final class Latest: Sendable {
        let identity: Identity
        let key: Key

        init(_ identity: Identity, _ key: Key) {
            self.identity = identity
            self.key = key
        }
    }

    private struct State {
        var entries: [Identity: Entry] = [:]
        var uses: UInt64 = 0
        /// What was asked for last, which is mostly asked for next.
        var latest: Latest?

        /// Gives a key that is held, and notes that it is used.
        @discardableResult mutating func use(_ identity: Identity?) -> Key? {
            uses += 1
            guard let identity, let index = entries.index(forKey: identity) else { return nil }
            entries.values[index].lastUse = uses
            return entries.values[index].key
        }
    }

    private let capacity: Int
    private let state = Mutex(State())

    init(capacity: Int) {
        self.capacity = max(1, capacity)
    }

    var count: Int {
        state.withLock { $0.entries.count }
    }

    /// The key that was asked for last, if that is the one.
    func latest(where isWanted: (Identity) -> Bool) -> Key? {
        state.withLock { state in
            guard let latest = state.latest, isWanted(latest.identity) else { return nil }
            return latest.key
        }
    }

    /// The key, made outside of the lock unless it is held.
    func key(for identity: Identity, make: () throws(SigningError) -> Key) throws(SigningError) -> Key {
        let held = state.withLock { state -> Key? in
            state.use(state.latest?.identity)
            guard let key = state.use(identity) else { return nil }
            state.latest = Latest(identity, key)
            return key
        }
        if let held { return held }
        let key = try make()
        state.withLock { state in
            if state.entries[identity] == nil, state.entries.count >= capacity,
                let oldest = state.entries.min(by: { $0.value.lastUse < $1.value.lastUse })
            {
                state.entries.removeValue(forKey: oldest.key)
            }
            state.entries[identity] = Entry(key: key, lastUse: state.uses)
            state.latest = Latest(identity, key)
        }
        return key
    }
}
