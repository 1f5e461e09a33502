import Synchronization

/// Keeps derived keys, so that signing derives once per credential, scope and day. Safe to share between threads.
public final class SigningKeyCache: Sendable {
    private struct Entry {
        let key: SigningKeyV4
        var lastUse: UInt64
    }

    private struct Identity: Hashable {
        let credential: SigningCredential
        let scope: CredentialScope
        let dayNumber: Int

        // Tokens are long, and the access key id tells credentials apart as well.
        func hash(into hasher: inout Hasher) {
            hasher.combine(credential.accessKeyID)
            hasher.combine(dayNumber)
        }

        // By bytes: two secrets that are canonically equivalent as text derive different keys.
        static func == (left: Identity, right: Identity) -> Bool {
            func same(_ left: String, _ right: String) -> Bool {
                let (left, right) = (left.utf8Span.span, right.utf8Span.span)
                return left.count == right.count && left.indices.allSatisfy { left[$0] == right[$0] }
            }
            return left.dayNumber == right.dayNumber && left.scope.dialect === right.scope.dialect
                && same(left.scope.region, right.scope.region) && same(left.scope.service, right.scope.service)
                && same(left.credential.accessKeyID, right.credential.accessKeyID)
                && same(left.credential.secretAccessKey, right.credential.secretAccessKey)
                && same(left.credential.securityToken ?? "", right.credential.securityToken ?? "")
                && (left.credential.securityToken == nil) == (right.credential.securityToken == nil)
        }
    }

    private struct State {
        var entries: [Identity: Entry] = [:]
        var uses: UInt64 = 0
    }

    private let capacity: Int
    private let state = Mutex(State())

    /// Makes a cache of at most `capacity` keys, at least one; the least recently used leaves first.
    public init(capacity: Int) {
        self.capacity = max(1, capacity)
    }

    /// Number of keys held.
    public var count: Int {
        state.withLock { $0.entries.count }
    }

    /// The key of a credential for the day of an instant, derived unless it is held.
    ///
    /// - Throws: As ``SigningKeyV4/init(_:scope:at:)``.
    public func key(
        for credential: SigningCredential, scope: CredentialScope, at instant: SigningInstant
    ) throws(SigningError) -> SigningKeyV4 {
        let identity = Identity(credential: credential, scope: scope, dayNumber: instant.dayNumber)
        let held = state.withLock { state -> SigningKeyV4? in
            state.uses += 1
            guard let index = state.entries.index(forKey: identity) else { return nil }
            state.entries.values[index].lastUse = state.uses
            return state.entries.values[index].key
        }
        if let held { return held }
        let key = try SigningKeyV4(credential, scope: scope, at: instant)
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
