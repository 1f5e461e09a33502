public import Figures
import Synchronization

/// Policy rows in memory, each at least as new as one common position in the log of changes.
///
/// The cache makes decisions faster, never stale: the code that records a decision proves at commit that nothing has
/// changed since ``Caller/position``, which is never later than ``AccessPolicy/position``. A position is read together
/// with the rows or before them, never after.
public final class PolicyCache: Sendable {
    /// Limits on what the cache holds.
    public struct Limits: Sendable {
        /// Largest number of keys whose rows are held. A key without rows counts too.
        var maxEntries: Int
        /// Approximate limit on the memory for rows, in bytes.
        public var maxBytes: Int
        /// Largest number of literal grants of one principal that are held together. Above it, grants are looked up by
        /// place.
        public var literalGrantLimit: Int
        /// Largest number of groups per caller.
        public var maxGroups: Int

        /// Creates limits. The defaults suit 100,000 active users.
        public init(
            maxEntries: Int = 200_000, maxBytes: Int = 128 << 20, literalGrantLimit: Int = 256, maxGroups: Int = 512
        ) {
            self.maxEntries = maxEntries
            self.maxBytes = maxBytes
            self.literalGrantLimit = literalGrantLimit
            self.maxGroups = maxGroups
        }
    }

    /// The held rows and their source. Gathered calls refer only to this part of the cache.
    fileprivate final class Store: Sendable {
        /// Number of loaded places that are stored in one go before other tasks have a turn.
        static let placesPerTurn = 64

        let source: any PolicySource
        let held: Mutex<HeldPolicy>
        let literalGrantLimit: Int

        init(source: any PolicySource, limits: Limits) {
            self.source = source
            held = Mutex(HeldPolicy(limits: limits))
            literalGrantLimit = limits.literalGrantLimit
        }
    }

    /// How look-ups of a caller's policy ended.
    public enum LookUp: String, Sendable, CaseIterable {
        /// All rows were in memory.
        case hit
        /// Rows had to be loaded.
        case miss
    }

    /// Counts look-ups of a caller's policy. Each object of a batch is one.
    public let lookUps = Counters<LookUp>()
    /// The approximate limit on the memory for rows, in bytes.
    public let maxBytes: Int
    private let hits: Counter
    private let store: Store
    private let rowLoads: Gathering<PolicyKey, Void>
    /// Loads for callers who are not authenticated yet. They have their own queue, so false tokens do not delay
    /// authenticated callers.
    private let identityLoads: Gathering<PolicyKey, Void>
    private let placeLoads: Gathering<GrantPlace, Void>
    /// Loads for requests that need many places. They have their own queue, so other requests need not wait behind
    /// them.
    private let largePlaceLoads: Gathering<GrantPlace, Void>
    private let logReads: Gathering<PolicyScope, Void>

    // Groups, credential and places each become known only after the previous load. The remaining rounds are for loads
    // that arrived too late.
    private static let maxRounds = 32
    /// Largest number of keys from different callers that one statement loads.
    private static let keysAtOnce = 1024
    /// Number of places from which a request uses the queue for large loads.
    private static let manyPlaces = 256
    /// Number of missing places at which a request loads them before it looks for more.
    private static let placesAtOnce = 4096
    /// Largest number of places that are loaded for one request. A request that needs more gets `slowDown`; when
    /// retried, it finds the loaded places in memory.
    static let maxPlacesOfRequest = 10_000
    /// Largest number of places of one key. The deepest key has 66 for each principal with more grants than are held.
    static let maxPlacesOfKey = 4096
    /// Largest number of grants that are considered if a request leaves the key open.
    public static let maxGrantsAround = 4096

    /// Creates an empty cache.
    ///
    /// - Parameters:
    ///   - source: Source of the rows and of the log.
    ///   - limits: Limits on what the cache holds.
    public init(source: any PolicySource, limits: Limits = Limits()) {
        let store = Store(source: source, limits: limits)
        let logReads = Gathering<PolicyScope, Void>(joinsCurrent: false) { _ throws(GatewayError) in
            try await store.readLog()
        }
        self.store = store
        maxBytes = limits.maxBytes
        hits = lookUps[.hit]
        self.logReads = logReads
        let loadRows: @Sendable (Set<PolicyKey>) async throws(GatewayError) -> Void = { keys throws(GatewayError) in
            guard try await !store.load(Array(keys)) else { return }
            try await logReads.run([.all])
        }
        let loadPlaces: @Sendable (Set<GrantPlace>) async throws(GatewayError) -> Void = {
            places throws(GatewayError) in
            guard try await !store.load(Array(places)) else { return }
            try await logReads.run([.all])
        }
        rowLoads = Gathering(joinsCurrent: true, maxItems: Self.keysAtOnce, call: loadRows)
        identityLoads = Gathering(joinsCurrent: true, maxItems: Self.keysAtOnce, call: loadRows)
        placeLoads = Gathering(joinsCurrent: true, maxItems: Self.placesAtOnce, call: loadPlaces)
        largePlaceLoads = Gathering(joinsCurrent: true, maxItems: Self.placesAtOnce, call: loadPlaces)
    }

    /// Position up to which the log of changes was read; `nil` before the first read.
    public var position: PolicyPosition? { store.held.withLock { $0.positionInHistory } }

    /// Approximate memory that held rows take, in bytes, for metrics.
    public var approximateBytes: Int { store.held.withLock { $0.cost } }

    /// Number of keys whose rows are held, for metrics.
    public var count: Int { store.held.withLock { $0.count } }

    /// Returns the policy that affects a caller, from memory if it is there.
    ///
    /// - Parameters:
    ///   - principal: The caller, a user.
    ///   - groups: Groups that the caller's credential names; memberships stored as rows are added.
    ///   - bucket: The bucket; `nil` for the caller's grants and quotas alone.
    ///   - key: The key. It is needed for principals with so many literal grants that they are looked up by place.
    /// - Throws: `unauthenticated` for more groups than the limit, `invalidArgument` for a key with too many places,
    ///   `slowDown`; `unavailable`, also if this version cannot read rows of one of the principals.
    public func access(
        of principal: Principal, groups: [Principal], to bucket: BucketName?, key: ObjectKey?
    ) async throws(GatewayError) -> AccessPolicy {
        if let bucket, let policy = held(of: principal, groups: groups, to: bucket) {
            hits.add()
            return policy
        }
        return try await loaded(HeldPolicy.Question(principal: principal, groups: groups, bucket: bucket, key: key))
    }

    // Apart from the search in memory, whose frame would otherwise hold what loading needs.
    private func loaded(_ question: HeldPolicy.Question) async throws(GatewayError) -> AccessPolicy {
        guard let policy = try await policies(for: [question]).first else { throw Self.restless }
        return try policy.get()
    }

    /// Returns the policy that affects a caller for each of several objects, in their order. Missing rows are loaded
    /// together.
    ///
    /// A single object fails with `invalidArgument` if its key has too many places. It fails with `slowDown` if the
    /// request has reached its limit of loaded places, and with `unavailable` if rows of a principal cannot be read.
    /// - Throws: `unauthenticated` for more groups than the limit, `slowDown`, `unavailable`.
    public func access(
        of principal: Principal, groups: [Principal], to objects: [(bucket: BucketName, key: ObjectKey)]
    ) async throws(GatewayError) -> [Result<AccessPolicy, GatewayError>] {
        try await policies(
            for: objects.map { HeldPolicy.Question(principal: principal, groups: groups, bucket: $0, key: $1) }
        )
    }

    private func held(of principal: Principal, groups: [Principal], to bucket: BucketName) -> AccessPolicy? {
        store.held.withLock { $0.policy(of: principal, groups: groups, to: bucket) }
    }

    /// Returns the policies for questions about one caller.
    private func policies(
        for questions: [HeldPolicy.Question]
    ) async throws(GatewayError) -> [Result<AccessPolicy, GatewayError>] {
        var results = [Result<AccessPolicy, GatewayError>?](repeating: nil, count: questions.count)
        var pending = Array(questions.indices)
        var asked = 0
        var rounds = 0
        var isRepeated = false
        var isFresh = false
        while rounds < Self.maxRounds {
            var keys: Set<PolicyKey> = []
            var places: Set<GrantPlace> = []
            var rest: [Int] = []
            var isDoubtful = false
            // The last question whose policy does not depend on the key.
            var latest: Int?
            for (order, index) in pending.enumerated() {
                if let latest, questions[latest].bucket == questions[index].bucket {
                    results[index] = results[latest]
                    continue
                }
                guard places.count < Self.placesAtOnce else {
                    rest += pending[order...]
                    break
                }
                // A search over many places takes long, so let other tasks run in between. An event loop gives its
                // tasks several turns before it polls its sockets, so each turn must be short.
                if !places.isEmpty || asked > 0 { await Task.yield() }
                switch store.held.withLock({ $0.attempt(questions[index]) }) {
                case .complete(let policy) where policy.bucketFlaw == nil || isFresh:
                    results[index] = .success(policy)
                    if policy.isComplete { latest = index }
                case .missing(let missing):
                    keys.formUnion(missing)
                    rest.append(index)
                case .missingPlaces(let missing):
                    places.formUnion(missing)
                    rest.append(index)
                case .tooManyPlaces where isFresh: results[index] = .failure(Self.tooManyPlaces)
                case .unreadable(let key) where isFresh: results[index] = .failure(.unreadable(key))
                case .tooManyGroups where isFresh:
                    throw .unauthenticated(reason: "The caller belongs to too many groups.")
                case .complete, .tooManyPlaces, .unreadable, .tooManyGroups:
                    isDoubtful = true
                    rest.append(index)
                }
            }
            if !isRepeated {
                hits.add(pending.count - rest.count)
                lookUps[.miss].add(rest.count)
                isRepeated = true
            }
            guard !rest.isEmpty else { return results.compactMap(\.self) }
            // Loaded rows may be evicted again before they are used. A request that makes progress gets the full number
            // of rounds again.
            rounds = rest.count < pending.count ? 0 : rounds + 1
            pending = rest
            // A change that was committed before the call may have lifted what memory refuses.
            if isDoubtful {
                try await advance()
                isFresh = true
            }
            if !keys.isEmpty { try await rowLoads.run(keys) }
            guard !places.isEmpty else { continue }
            asked += places.count
            guard asked <= Self.maxPlacesOfRequest else {
                for index in pending { results[index] = .failure(Self.tooMuchToLoad) }
                return results.compactMap(\.self)
            }
            try await (places.count < Self.manyPlaces ? placeLoads : largePlaceLoads).run(places)
        }
        throw Self.restless
    }

    private static let restless = GatewayError.slowDown(
        retryAfter: 1, cause: "what was loaded of policy was gone again, or old, each time")
    private static let tooMuchToLoad = GatewayError.slowDown(
        retryAfter: 1, cause: "the request needs more places of grants than one may have loaded")
    private static let misplaced = GatewayError.unavailable(
        retryAfter: 1, cause: "the cache holds a row of another kind")
    private static func unopened(_ row: String) -> GatewayError {
        .unavailable(retryAfter: 60, cause: "no master key here opens the secret of \(row)")
    }
    private static let tooManyPlaces = GatewayError.invalidArgument(
        field: "key",
        reason: "The key has too many '/' for this caller, who is in many groups with many grants each.")

    /// Returns the policy that affects a caller for all keys below a prefix of a bucket.
    ///
    /// For principals with more literal grants than are held, the grants are read from the source each time, up to a
    /// limit. Returns `nil` if there are more than a session policy could name.
    /// - Throws: The same errors as ``access(of:groups:to:key:)``.
    public func access(
        of principal: Principal, groups: [Principal], to bucket: BucketName, around prefix: ExactText
    ) async throws(GatewayError) -> AccessPolicy? {
        var policy = try await access(of: principal, groups: groups, to: bucket, key: nil)
        guard !policy.isComplete, policy.hasBucket else { return policy }
        let load = try await store.source.grants(
            of: policy.crowded.map(\.principal), in: bucket, around: prefix, limit: store.literalGrantLimit + 1)
        try Self.add(load, to: &policy)
        var counts: [Principal: Int] = [:]
        for grant in load.rows { counts[grant.principal, default: 0] += 1 }
        guard load.rows.count <= Self.maxGrantsAround, counts.values.allSatisfy({ $0 <= store.literalGrantLimit })
        else { return nil }
        return policy
    }

    /// Returns the policy that lists a caller's grants: in one bucket, around a prefix; without a bucket, where the
    /// prefix is empty, all.
    ///
    /// For principals with more literal grants than are held, the first of these grants are read from the source each
    /// time, at most `limit` in the order of bucket, prefix and identifier. The other grants are all there, whatever
    /// the bucket and the prefix.
    /// - Throws: The same errors as ``access(of:groups:to:key:)``.
    func access(
        of principal: Principal, groups: [Principal], in bucket: BucketName?, around prefix: ExactText, first limit: Int
    ) async throws(GatewayError) -> AccessPolicy {
        var policy = try await access(of: principal, groups: groups, to: nil, key: nil)
        guard !policy.isComplete else { return policy }
        let load = try await store.source.firstGrants(
            of: policy.crowded.map(\.principal), in: bucket, around: prefix, limit: limit)
        try Self.add(load, to: &policy)
        return policy
    }

    /// Adds literal grants that were read after the rest of a policy. A later read includes everything of the earlier
    /// one only if the log continued; otherwise it is a different log.
    private static func add(_ load: PolicyLoad<[Grant]>, to policy: inout AccessPolicy) throws(GatewayError) {
        guard policy.position.mayPrecede(load.position) else { throw restless }
        policy.placedGrants = load.rows.map(GrantRow.init)
    }

    /// Returns an issuer, from memory if it is there.
    ///
    /// - Throws: `slowDown`; `unavailable`, also if no master key here opens the issuer's secret.
    public func issuer(_ issuer: String) async throws(GatewayError) -> PolicyLoad<Stored<Issuer>?> {
        let (position, content) = try await content(of: .issuer(ExactText(issuer)))
        switch content {
        case .issuer(let row): return PolicyLoad(position: position, rows: row)
        case .unopened: throw Self.unopened("the issuer '\(issuer)'")
        default: throw Self.misplaced
        }
    }

    /// Returns an API key by its public prefix, from memory if it is there.
    ///
    /// - Throws: `slowDown`, `unavailable`.
    public func apiKey(prefix: String) async throws(GatewayError) -> PolicyLoad<APIKeyRow?> {
        let (position, content) = try await content(of: .apiKey(prefix: prefix))
        guard case .apiKey(let row) = content else { throw Self.misplaced }
        return PolicyLoad(position: position, rows: row)
    }

    /// Returns a ticket by its public name, from memory if it is there.
    ///
    /// - Throws: `slowDown`; `unavailable`, also if no master key here opens what the ticket holds.
    public func ticket(name: String) async throws(GatewayError) -> PolicyLoad<Ticket?> {
        let (position, content) = try await content(of: .ticket(name: name))
        switch content {
        case .ticket(let row): return PolicyLoad(position: position, rows: row)
        case .unopened: throw Self.unopened("the ticket '\(name)'")
        default: throw Self.misplaced
        }
    }

    /// Returns a bucket, from memory if it is there; `nil` if it does not exist.
    ///
    /// - Throws: `slowDown`, `unavailable`.
    public func bucket(named name: BucketName) async throws(GatewayError) -> Bucket? {
        guard case .bucket(let bucket?) = try await content(of: .bucket(name)).content else { return nil }
        return bucket.bucket
    }

    /// Returns a bucket as committed before the call; `nil` if it does not exist.
    ///
    /// - Throws: `slowDown`, `unavailable`.
    public func presentBucket(named name: BucketName) async throws(GatewayError) -> Bucket? {
        try await advance()
        return try await bucket(named: name)
    }

    /// Returns a bucket and the credential that signs for it, from memory if they are there; `nil` if the bucket does
    /// not exist.
    ///
    /// - Throws: `slowDown`; `unavailable`, also if no master key here opens the credential.
    public func location(
        of name: BucketName
    ) async throws(GatewayError) -> (bucket: Bucket, credential: StorageCredential)? {
        guard let bucket = try await bucket(named: name) else { return nil }
        guard case .credential(let credential?) = try await content(of: .credential(bucket.credentialID)).content else {
            throw Self.unopened("the credential of the bucket '\(name)'")
        }
        return (bucket, credential.credential)
    }

    /// Returns the bucket and its storage credential as committed before the call, for a request of the gateway's own
    /// to the store. Another store would not know the object, or lose one of the same key.
    ///
    /// - Throws: `slowDown`; `unavailable`, also if no master key here opens the credential.
    public func presentLocation(
        of bucket: BucketName
    ) async throws(GatewayError) -> (bucket: Bucket, credential: StorageCredential)? {
        try await advance()
        return try await location(of: bucket)
    }

    /// Reads the log of changes and drops changed rows. When it returns, the cache knows all changes committed before
    /// the call.
    ///
    /// Concurrent callers share a round trip that began after each of their calls.
    /// - Throws: `slowDown`, `unavailable`.
    public func advance() async throws(GatewayError) {
        try await logReads.run([.all])
    }

    /// Reads the log of changes, as ``advance()`` does, and then the rows of `*`, which every decision needs, unless
    /// they are held.
    ///
    /// - Throws: `slowDown`; `unavailable`, also if this version cannot read the rows of `*`.
    public func advanceWithAnyone() async throws(GatewayError) {
        try await advance()
        _ = try await content(of: .principal(.anyone))
    }

    /// Whether the rows of `*` are held. Without them, nobody is served.
    public var holdsAnyone: Bool {
        store.held.withLock { held in
            if case .principal? = held.content(of: .principal(.anyone))?.content { true } else { false }
        }
    }

    /// Discards all rows, which are read again when they are needed. Call it when the secrets in them open differently.
    public func discard() {
        store.held.withLock { $0.discard() }
    }

    /// Discards all rows, and lets nothing be proved any more that rests on them: the positions at which callers were
    /// checked until now prove nothing. Those callers are checked again, and what they asked for is decided again.
    ///
    /// Call it when another history of the database takes the place of theirs: rows may be newer than ``position``, and
    /// both histories agree up to that one alone.
    public func beginHistory() {
        store.held.withLock { $0.beginHistory() }
    }

    private func content(
        of key: PolicyKey
    ) async throws(GatewayError) -> (position: PolicyPosition, content: CachedRows) {
        for _ in 0..<Self.maxRounds {
            if let found = store.held.withLock({ $0.content(of: key) }) {
                if case .unreadable = found.content { throw .unreadable(key) }
                return found
            }
            try await (key.isIdentity ? identityLoads : rowLoads).run([key])
        }
        throw Self.restless
    }
}

extension PolicyCache.Store {
    /// Loads rows; returns `false` if they arrived too late to be used.
    fileprivate func load(_ keys: [PolicyKey]) async throws(GatewayError) -> Bool {
        let epoch = held.withLock { $0.epoch }
        let load = try await source.load(keys, literalGrantLimit: literalGrantLimit)
        return held.withLock { $0.admit(load, of: keys, askedAt: epoch) }
    }

    /// Loads grants by place; returns `false` if they arrived too late to be used.
    fileprivate func load(_ places: [GrantPlace]) async throws(GatewayError) -> Bool {
        let epoch = held.withLock { $0.epoch }
        let load = try await source.grants(at: places)
        // Store them in parts, so that no task waits long for the lock or for the thread.
        for start in stride(from: 0, to: places.count, by: Self.placesPerTurn) {
            let part = start..<min(start + Self.placesPerTurn, places.count)
            let rows = PolicyLoad(position: load.position, rows: Array(load.rows[part]))
            guard held.withLock({ $0.admit(rows, at: Array(places[part]), askedAt: epoch) }) else { return false }
            await Task.yield()
        }
        return true
    }

    /// Reads the log from the last position on.
    fileprivate func readLog() async throws(GatewayError) {
        let position = held.withLock { $0.position }
        let changes = try await source.changes(since: position)
        held.withLock { $0.apply(changes) }
    }
}
