/// What policy says that bears on one caller, bucket and key, and the position at which it says so.
public struct AccessPolicy: Sendable {
    /// The state of policy; everything here is at least this new.
    public var position: PolicyPosition
    /// The caller's own rows, where the other rows are shared with other callers.
    let caller: PrincipalPolicy?
    /// All other rows.
    private(set) var shared: SharedPolicy
    /// Literal grants found one by one, for principals whose grants are not all held.
    var placedGrants: [GrantRow]

    /// Puts policy together.
    ///
    /// - Parameters:
    ///   - position: The state of policy; everything else is at least this new.
    ///   - principals: The caller first, then the caller's groups, then `*`; none twice.
    ///   - literalGrants: Literal grants found one by one, for principals whose grants are not all held.
    ///   - bucket: The bucket, where there is one of that name.
    ///   - credential: The credential that signs for the bucket.
    ///   - scopes: Everything that this rests on, for the proof.
    public init(
        position: PolicyPosition, principals: [PrincipalPolicy], literalGrants: [Grant] = [], bucket: Bucket?,
        credential: StorageCredential?, scopes: [PolicyScope]
    ) {
        self.position = position
        caller = nil
        shared = SharedPolicy(
            principals: principals, bucket: bucket.map(BucketRow.init), credential: credential.map(CredentialRow.init),
            scopes: scopes)
        placedGrants = literalGrants.map(GrantRow.init)
    }

    /// Adds a caller's own rows to those shared with others.
    init(position: PolicyPosition, caller: PrincipalPolicy, shared: SharedPolicy) {
        self.position = position
        self.caller = caller
        self.shared = shared
        placedGrants = []
    }

    /// The caller first, then the caller's groups, then `*`; none twice.
    public var principals: [PrincipalPolicy] {
        guard let caller else { return shared.principals }
        return [caller] + shared.principals
    }

    /// Literal grants found one by one, for principals whose grants are not all held.
    public var literalGrants: [Grant] { placedGrants.map(\.grant) }

    /// The bucket, where there is one of that name.
    public var bucket: Bucket? { shared.bucket?.bucket }

    /// The credential that signs for the bucket.
    public var credential: StorageCredential? { shared.credential?.credential }

    /// Everything that this rests on, for the proof.
    public var scopes: [PolicyScope] {
        guard let caller else { return shared.scopes }
        return [caller.scope] + shared.scopes
    }

    /// The same with other principals and literal grants.
    func replacing(principals: [PrincipalPolicy], literalGrants: [Grant]) -> AccessPolicy {
        AccessPolicy(
            position: position, principals: principals, literalGrants: literalGrants, bucket: bucket,
            credential: credential, scopes: scopes)
    }

    /// Hands out the principals in their order.
    @inline(__always)
    func forEachPrincipal(_ body: (PrincipalPolicy) -> Void) {
        if let caller { body(caller) }
        for principal in shared.principals { body(principal) }
    }

    /// Everything that a decision for a caller rests on, for the proof.
    func scopes(with other: Caller) -> [PolicyScope] {
        var scopes: [PolicyScope] = []
        scopes.reserveCapacity(shared.scopes.count + 3)
        if let caller { scopes.append(caller.scope) }
        for scope in shared.scopes { scopes.append(scope) }
        other.addScopes(to: &scopes)
        return scopes
    }
}
