import Synchronization

/// Rows that bear on all callers who belong to the same groups and ask for the same bucket.
final class SharedPolicy: Sendable {
    /// The groups, then `*`; none twice.
    let principals: [PrincipalPolicy]
    /// The bucket, where there is one of that name.
    let bucket: BucketRow?
    /// The credential that signs for the bucket.
    let credential: CredentialRow?
    /// Under which all of this changes.
    let scopes: [PolicyScope]
    /// Whether the grants of all of the principals are here.
    let isComplete: Bool
    private let wasUsed = Atomic(true)

    /// Puts rows together.
    init(principals: [PrincipalPolicy], bucket: BucketRow?, credential: CredentialRow?, scopes: [PolicyScope]) {
        self.principals = principals
        self.bucket = bucket
        self.credential = credential
        self.scopes = scopes
        isComplete = principals.allSatisfy(\.isComplete)
    }

    /// Notes that the rows are in use.
    func markUsed() {
        if !wasUsed.load(ordering: .relaxed) { wasUsed.store(true, ordering: .relaxed) }
    }

    /// Whether the rows were used since this was asked last.
    func takeUse() -> Bool { wasUsed.exchange(false, ordering: .relaxed) }

    /// The keys of the rows.
    var keys: [PolicyKey] {
        var keys = principals.map { PolicyKey.principal($0.principal) }
        if let bucket { keys.append(.bucket(bucket.bucket.name)) }
        if let credential { keys.append(.credential(credential.credential.id)) }
        return keys
    }
}
