/// The part of the policy that affects one caller, bucket and key, with its position in the log.
public struct AccessPolicy: Sendable {
    /// The position of this policy. All rows here are at least as new. A recording proves the caller's instead, which
    /// was read before.
    public var position: PolicyPosition
    /// The caller's own rows; `nil` if ``shared`` holds all rows.
    let caller: PrincipalPolicy?
    /// All other rows, shared with other callers.
    private(set) var shared: SharedPolicy
    /// Literal grants that were looked up one by one, for principals whose grants are not all in memory.
    var placedGrants: [GrantRow]

    /// Creates the policy from rows.
    ///
    /// - Parameters:
    ///   - position: Position of the policy; all rows are at least as new.
    ///   - principals: The caller first, then the caller's groups, then `*`; without duplicates.
    ///   - literalGrants: Literal grants that were looked up one by one, for principals whose grants are not all in
    ///     memory.
    ///   - bucket: The bucket; `nil` if it does not exist or cannot be read.
    ///   - bucketFlaw: What is answered about a bucket that cannot be read; `nil` if it can, or if it does not exist.
    ///   - credential: The credential that signs for the bucket at its store.
    ///   - cdnCredential: The credential that signs links to the bucket's CDN.
    ///   - scopes: All scopes that this policy rests on. The proof at commit needs them.
    public init(
        position: PolicyPosition, principals: [PrincipalPolicy], literalGrants: [Grant] = [], bucket: Bucket?,
        bucketFlaw: GatewayError? = nil, credential: StorageCredential?, cdnCredential: StorageCredential? = nil,
        scopes: [PolicyScope]
    ) {
        self.position = position
        caller = nil
        shared = SharedPolicy(
            principals: principals, bucket: bucket.map(BucketRow.init), bucketFlaw: bucketFlaw,
            credential: credential.map(CredentialRow.init), cdnCredential: cdnCredential.map(CredentialRow.init),
            scopes: scopes)
        placedGrants = literalGrants.map(GrantRow.init)
    }

    /// Combines a caller's own rows with rows shared with other callers.
    init(position: PolicyPosition, caller: PrincipalPolicy, shared: SharedPolicy) {
        self.position = position
        self.caller = caller
        self.shared = shared
        placedGrants = []
    }

    /// The caller first, then the caller's groups, then `*`; without duplicates.
    public var principals: [PrincipalPolicy] {
        guard let caller else { return shared.principals }
        return [caller] + shared.principals
    }

    /// Whether all grants of all these principals are in memory.
    var isComplete: Bool { (caller?.isComplete ?? true) && shared.isComplete }

    /// The principals whose literal grants are not in memory.
    var crowded: [PrincipalPolicy] { principals.filter { !$0.isComplete } }

    /// Literal grants that were looked up one by one, for principals whose grants are not all in memory.
    public var literalGrants: [Grant] { placedGrants.map(\.grant) }

    /// The bucket; `nil` if it does not exist or cannot be read.
    public var bucket: Bucket? { shared.bucket?.bucket }

    /// What is answered about a bucket that cannot be read; `nil` if it can, or if it does not exist. Callers without a
    /// grant in the bucket must not receive it: see ``refusalWithoutBucket(_:for:)``.
    var bucketFlaw: GatewayError? { shared.bucketFlaw }

    /// Whether there is a bucket, whether or not it can be read.
    var hasBucket: Bool { shared.bucket != nil || shared.bucketFlaw != nil }

    /// The credential that signs for the bucket at its store.
    public var credential: StorageCredential? { shared.credential?.credential }

    /// All scopes that this policy rests on. The proof at commit needs them.
    public var scopes: [PolicyScope] {
        guard let caller else { return shared.scopes }
        return [caller.scope] + shared.scopes
    }

    /// Returns a copy with other principals and literal grants.
    func replacing(principals: [PrincipalPolicy], literalGrants: [Grant]) -> AccessPolicy {
        AccessPolicy(
            position: position, principals: principals, literalGrants: literalGrants, bucket: bucket,
            bucketFlaw: bucketFlaw, credential: credential, cdnCredential: shared.cdnCredential?.credential,
            scopes: scopes)
    }

    /// Calls a function with each principal, in the order of ``principals``.
    @inline(__always)
    func forEachPrincipal(_ body: (PrincipalPolicy) -> Void) {
        if let caller { body(caller) }
        for principal in shared.principals { body(principal) }
    }

    /// Returns all scopes that a decision for a caller rests on. The proof at commit needs them.
    func scopes(with other: Caller) -> [PolicyScope] {
        var scopes: [PolicyScope] = []
        scopes.reserveCapacity(shared.scopes.count + 3)
        if let caller { scopes.append(caller.scope) }
        for scope in shared.scopes { scopes.append(scope) }
        other.addScopes(to: &scopes)
        return scopes
    }
}
