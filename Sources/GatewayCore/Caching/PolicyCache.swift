import Synchronization

/// Rows of policy in memory, each at least as new as one position in the log of changes.
///
/// It speeds decisions up and never makes them stale: whoever records a decision proves at commit that nothing changed after
/// ``AccessPolicy/position``. The position is taken together with the rows, or before them, never after.
public final class PolicyCache: Sendable {
    /// How much is kept.
    public struct Limits: Sendable {
        /// Most keys whose rows are kept; that there are no rows is kept as well.
        public var maxEntries: Int
        /// About the most bytes that rows take.
        public var maxBytes: Int
        /// Literal grants of one principal above which they are looked up by place.
        public var literalGrantLimit: Int
        /// Most places that are kept.
        public var maxPlaces: Int
        /// Most groups of one caller.
        public var maxGroups: Int

        /// Sets limits; the defaults suit 100,000 active users.
        public init(
            maxEntries: Int = 200_000, maxBytes: Int = 128 << 20, literalGrantLimit: Int = 256,
            maxPlaces: Int = 50_000, maxGroups: Int = 512
        ) {
            self.maxEntries = maxEntries
            self.maxBytes = maxBytes
            self.literalGrantLimit = literalGrantLimit
            self.maxPlaces = maxPlaces
            self.maxGroups = maxGroups
        }
    }

    /// What is held and where it comes from; the calls that are gathered refer to this part only.
    fileprivate final class Store: Sendable {
        /// Places of what was loaded that are taken in before others have a turn.
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

    private let store: Store
    private let rowLoads: Gathering<PolicyKey>
    /// Of those who are not known yet, so that false tokens keep nobody waiting who is.
    private let identityLoads: Gathering<PolicyKey>
    private let placeLoads: Gathering<GrantPlace>
    /// Of requests that need many places, so that all others go past them.
    private let largePlaceLoads: Gathering<GrantPlace>
    private let logReads: Gathering<PolicyScope>

    // Groups, credential and places each show only after the load before; the rest is for loads that came too late.
    private static let maxRounds = 32
    /// Most keys of different callers that are loaded in one statement.
    private static let keysAtOnce = 1024
    /// Places from which on a request has them loaded in the line of the large ones.
    private static let manyPlaces = 256
    /// Places at which a request has them loaded before it looks for more.
    private static let placesAtOnce = 4096
    /// Most places that one request has loaded; what needs more is told to slow down, and finds them held the next time.
    static let maxPlacesOfRequest = 10_000
    /// Most places of one key: the deepest one has 66 for each principal with more grants than are held.
    static let maxPlacesOfKey = 4096
    /// Most grants that are looked at where a request leaves the key open.
    public static let maxGrantsAround = 4096

    /// Makes an empty cache over a source.
    public init(source: any PolicySource, limits: Limits = Limits()) {
        let store = Store(source: source, limits: limits)
        let logReads = Gathering<PolicyScope>(joinsCurrent: false) { _ throws(GatewayError) in
            try await store.readLog()
        }
        self.store = store
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

    /// How far the log of changes is read; `nil` before anything was.
    public var position: PolicyPosition? { store.held.withLock { $0.position } }

    /// About how many bytes are held, for metrics.
    public var approximateBytes: Int { store.held.withLock { $0.cost } }

    /// Keys whose rows are held, for metrics.
    public var count: Int { store.held.withLock { $0.count } }

    /// Collects what bears on a caller, from memory where it is there.
    ///
    /// - Parameters:
    ///   - principal: The caller, a user.
    ///   - groups: Groups that the caller's credential names; those of the rows are added.
    ///   - bucket: The bucket; `nil` for the caller's grants and quotas alone.
    ///   - key: The key, for principals with so many literal grants that they are looked up by place.
    /// - Throws: `unauthenticated` for more groups than the limit, `invalidArgument` for a key with too many places,
    ///   `slowDown`, `unavailable`.
    public func access(
        of principal: Principal, groups: [Principal], to bucket: BucketName?, key: ObjectKey?
    ) async throws(GatewayError) -> AccessPolicy {
        if let bucket, let policy = held(of: principal, groups: groups, to: bucket) { return policy }
        let question = HeldPolicy.Question(principal: principal, groups: groups, bucket: bucket, key: key)
        guard let policy = try await policies(for: [question]).first else { throw Self.restless }
        return try policy.get()
    }

    /// Collects what bears on a caller for each of some objects, in their order; what is missing is loaded together.
    ///
    /// An object fails by itself where its key has too many places (`invalidArgument`), or where those before it have as many as
    /// one request may load (`slowDown`).
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

    private func policies(
        for questions: [HeldPolicy.Question]
    ) async throws(GatewayError) -> [Result<AccessPolicy, GatewayError>] {
        var results = [Result<AccessPolicy, GatewayError>?](repeating: nil, count: questions.count)
        var pending = Array(questions.indices)
        var asked = 0
        var rounds = 0
        while rounds < Self.maxRounds {
            var keys: Set<PolicyKey> = []
            var places: Set<GrantPlace> = []
            var rest: [Int] = []
            for (order, index) in pending.enumerated() {
                guard places.count < Self.placesAtOnce else {
                    rest += pending[order...]
                    break
                }
                // Looking for many places takes long: others go between. A loop gives its tasks several turns before it looks
                // at its sockets, so that each is to be short.
                if !places.isEmpty || asked > 0 { await Task.yield() }
                switch store.held.withLock({ $0.attempt(questions[index]) }) {
                case .complete(let policy): results[index] = .success(policy)
                case .missing(let missing):
                    keys.formUnion(missing)
                    rest.append(index)
                case .missingPlaces(let missing):
                    places.formUnion(missing)
                    rest.append(index)
                case .tooManyPlaces: results[index] = .failure(Self.tooManyPlaces)
                case .tooManyGroups:
                    throw .unauthenticated(reason: "The credential belongs to more groups than are allowed.")
                }
            }
            guard !rest.isEmpty else { return results.compactMap(\.self) }
            // What is loaded may be gone again when it is looked for; whoever gets on may try as often again.
            rounds = rest.count < pending.count ? 0 : rounds + 1
            pending = rest
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
    private static let tooManyPlaces = GatewayError.invalidArgument(
        field: "key",
        reason: "The key has too many '/' for a caller in so many groups that each have a great many grants.")

    /// Collects what bears on a caller and the keys below a prefix of a bucket.
    ///
    /// Literal grants of principals that have a great many are read anew each time, and bounded; where there are more than a
    /// session policy could name, the answer is `nil`.
    /// - Throws: As ``access(of:groups:to:key:)``.
    public func access(
        of principal: Principal, groups: [Principal], to bucket: BucketName, around prefix: ExactText
    ) async throws(GatewayError) -> AccessPolicy? {
        var policy = try await access(of: principal, groups: groups, to: bucket, key: nil)
        let incomplete = policy.principals.filter { !$0.isComplete }.map(\.principal)
        guard !incomplete.isEmpty, policy.bucket != nil else { return policy }
        let load = try await store.source.grants(
            of: incomplete, in: bucket, around: prefix, limit: store.literalGrantLimit + 1)
        // What was read later covers what was read before only if the log went on; else it is another one.
        guard policy.position.mayPrecede(load.position) else { throw Self.restless }
        var counts: [Principal: Int] = [:]
        for grant in load.rows { counts[grant.principal, default: 0] += 1 }
        guard load.rows.count <= Self.maxGrantsAround, counts.values.allSatisfy({ $0 <= store.literalGrantLimit })
        else { return nil }
        policy.placedGrants = load.rows.map(GrantRow.init)
        return policy
    }

    /// Reads an issuer, from memory where it is there.
    ///
    /// - Throws: `slowDown`, `unavailable`.
    public func issuer(_ issuer: String) async throws(GatewayError) -> PolicyLoad<Issuer?> {
        let (position, content) = try await content(of: .issuer(ExactText(issuer)))
        guard case .issuer(let row) = content else { throw Self.misplaced }
        return PolicyLoad(position: position, rows: row)
    }

    /// Reads an API key by its public prefix, from memory where it is there.
    ///
    /// - Throws: `slowDown`, `unavailable`.
    public func apiKey(prefix: String) async throws(GatewayError) -> PolicyLoad<APIKeyRow?> {
        let (position, content) = try await content(of: .apiKey(prefix: prefix))
        guard case .apiKey(let row) = content else { throw Self.misplaced }
        return PolicyLoad(position: position, rows: row)
    }

    /// Reads a ticket by its public name, from memory where it is there.
    ///
    /// - Throws: `slowDown`, `unavailable`.
    public func ticket(name: String) async throws(GatewayError) -> PolicyLoad<Ticket?> {
        let (position, content) = try await content(of: .ticket(name: name))
        guard case .ticket(let row) = content else { throw Self.misplaced }
        return PolicyLoad(position: position, rows: row)
    }

    /// Reads a bucket and the credential that signs for it, from memory where they are there; `nil` where one is missing.
    ///
    /// - Throws: `slowDown`, `unavailable`.
    public func location(
        of bucket: BucketName
    ) async throws(GatewayError) -> (bucket: Bucket, credential: StorageCredential)? {
        guard case .bucket(let bucket?) = try await content(of: .bucket(bucket)).content,
            case .credential(let credential?) = try await content(of: .credential(bucket.bucket.credentialID)).content
        else { return nil }
        return (bucket.bucket, credential.credential)
    }

    /// Reads the log of changes and drops what changed. When it returns, everything committed before the call is known.
    ///
    /// Callers share a round trip, one that began after the call of each of them.
    /// - Throws: `unavailable`.
    public func advance() async throws(GatewayError) {
        try await logReads.run([.all])
    }

    private func content(
        of key: PolicyKey
    ) async throws(GatewayError) -> (position: PolicyPosition, content: CachedRows.Content) {
        for _ in 0..<Self.maxRounds {
            if let found = store.held.withLock({ $0.content(of: key) }) { return found }
            try await (key.isIdentity ? identityLoads : rowLoads).run([key])
        }
        throw Self.restless
    }
}

extension PolicyCache.Store {
    /// Loads rows; `false` when they came too late to be of use.
    fileprivate func load(_ keys: [PolicyKey]) async throws(GatewayError) -> Bool {
        let epoch = held.withLock { $0.epoch }
        let load = try await source.load(keys, literalGrantLimit: literalGrantLimit)
        return held.withLock { $0.admit(load, of: keys, askedAt: epoch) }
    }

    /// Loads grants by place; `false` when they came too late to be of use.
    fileprivate func load(_ places: [GrantPlace]) async throws(GatewayError) -> Bool {
        let epoch = held.withLock { $0.epoch }
        let load = try await source.grants(at: places)
        // In parts, so that nobody waits long for the lock or for the thread.
        for start in stride(from: 0, to: places.count, by: Self.placesPerTurn) {
            let part = start..<min(start + Self.placesPerTurn, places.count)
            let rows = PolicyLoad(position: load.position, rows: Array(load.rows[part]))
            guard held.withLock({ $0.admit(rows, at: Array(places[part]), askedAt: epoch) }) else { return false }
            await Task.yield()
        }
        return true
    }

    /// Reads the log from where it was left.
    fileprivate func readLog() async throws(GatewayError) {
        let position = held.withLock { $0.position }
        let changes = try await source.changes(since: position)
        held.withLock { $0.apply(changes) }
    }
}
