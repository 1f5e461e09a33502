import LibCrypto
import Synchronization

/// Keeps signing keys, so that each is made once: "version 4" keys per credential, scope and day, "version 2" keys per
/// credential. It is safe to share between threads.
public final class SigningKeyCache: Sendable {
    private struct Identity4: Hashable {
        let credential: ExactCredential
        let scope: CredentialScope
        let dayNumber: Int

        func hash(into hasher: inout Hasher) {
            hasher.combine(credential)
            hasher.combine(dayNumber)
        }

        static func == (left: Identity4, right: Identity4) -> Bool {
            left.dayNumber == right.dayNumber && left.scope.matches(right.scope) && left.credential == right.credential
        }
    }

    private struct Identity2: Hashable {
        let credential: ExactCredential
        let isServiceAccount: Bool
    }

    private let version4: LeastRecentlyUsedKeys<Identity4, SigningKeyV4>
    private let version2: LeastRecentlyUsedKeys<Identity2, SigningKeyV2>

    /// Makes a cache of at most `capacity` keys of each version, at least one. The least recently used key is dropped
    /// first.
    public init(capacity: Int) {
        version4 = LeastRecentlyUsedKeys(capacity: capacity)
        version2 = LeastRecentlyUsedKeys(capacity: capacity)
    }

    /// Number of cached keys.
    public var count: Int {
        version4.count + version2.count
    }

    /// The key of a credential for the day of an instant, derived unless it is cached.
    ///
    /// - Throws: As ``SigningKeyV4/init(_:scope:at:)``.
    public func key(
        for credential: SigningCredential, scope: CredentialScope, at instant: SigningInstant
    ) throws(SigningError) -> SigningKeyV4 {
        let identity = Identity4(
            credential: ExactCredential(credential: credential), scope: scope, dayNumber: instant.dayNumber)
        return try version4.key(for: identity) { () throws(SigningError) in
            try SigningKeyV4(credential, scope: scope, at: instant)
        }
    }

    /// The "version 2" key of a credential, prepared unless it is cached.
    ///
    /// - Throws: As ``SigningKeyV2/init(_:)``.
    public func key(for credential: SigningCredential) throws(SigningError) -> SigningKeyV2 {
        let identity = Identity2(credential: ExactCredential(credential: credential), isServiceAccount: false)
        return try version2.key(for: identity) { () throws(SigningError) in try SigningKeyV2(credential) }
    }

    /// The "version 2" key of a service account, prepared unless it is cached.
    ///
    /// - Throws: As ``SigningKeyV2/init(serviceAccount:)``.
    public func key(forServiceAccount credential: SigningCredential) throws(SigningError) -> SigningKeyV2 {
        let identity = Identity2(credential: ExactCredential(credential: credential), isServiceAccount: true)
        return try version2.key(for: identity) { () throws(SigningError) in
            try SigningKeyV2(serviceAccount: credential)
        }
    }
}

/// A credential that compares by bytes, because secrets that are canonically equivalent as text make different keys.
private struct ExactCredential: Hashable {
    let credential: SigningCredential

    // The access key id suffices to tell most credentials apart, and tokens are long.
    func hash(into hasher: inout Hasher) {
        hasher.combine(credential.accessKeyID)
    }

    static func == (left: ExactCredential, right: ExactCredential) -> Bool {
        left.credential.accessKeyID.isSameBytes(as: right.credential.accessKeyID)
            && left.credential.secretAccessKey.isSameBytes(as: right.credential.secretAccessKey)
            && matches(left.credential.securityToken, right.credential.securityToken)
    }

    private static func matches(_ left: String?, _ right: String?) -> Bool {
        switch (left, right) {
        case (nil, nil): true
        case (let left?, let right?): left.isSameBytes(as: right)
        default: false
        }
    }
}

/// A bounded number of keys. The least recently used key is dropped first.
private final class LeastRecentlyUsedKeys<Identity: Hashable & Sendable, Key: Sendable>: Sendable {
    private struct Entry {
        let key: Key
        var lastUse: UInt64
    }

    private struct State {
        var entries: [Identity: Entry] = [:]
        var uses: UInt64 = 0

        /// Returns a cached key and notes its use.
        mutating func use(_ identity: Identity) -> Key? {
            uses += 1
            guard let index = entries.index(forKey: identity) else { return nil }
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

    /// The key. It is made outside of the lock unless it is cached.
    func key(for identity: Identity, make: () throws(SigningError) -> Key) throws(SigningError) -> Key {
        if let held = state.withLock({ $0.use(identity) }) { return held }
        let key = try make()
        state.withLock { state in
            if state.entries[identity] == nil, state.entries.count >= capacity,
                let oldest = state.entries.min(by: { $0.value.lastUse < $1.value.lastUse })
            {
                state.entries.removeValue(forKey: oldest.key)
            }
            state.entries[identity] = Entry(key: key, lastUse: state.uses)
        }
        return key
    }
}
