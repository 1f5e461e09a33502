import Synchronization

/// Rows that affect all callers who belong to the same groups and ask for the same bucket.
final class SharedPolicy: Sendable {
    /// The groups, then `*`; without duplicates.
    let principals: [PrincipalPolicy]
    /// The bucket; `nil` if it does not exist or cannot be read.
    let bucket: BucketRow?
    /// What is answered about a bucket that cannot be read; `nil` if it can, or if it does not exist.
    let bucketFlaw: GatewayError?
    /// The credential that signs for the bucket at its store; `nil` if it cannot be used.
    let credential: CredentialRow?
    /// The credential that signs links to the bucket's CDN; `nil` if the bucket names none, or if it cannot be used.
    let cdnCredential: CredentialRow?
    /// The scopes that a change of these rows touches.
    let scopes: [PolicyScope]
    /// Whether all grants of all these principals are in memory.
    let isComplete: Bool
    private let wasUsed = Atomic(true)

    /// Creates the policy from rows.
    init(
        principals: [PrincipalPolicy], bucket: BucketRow?, bucketFlaw: GatewayError?, credential: CredentialRow?,
        cdnCredential: CredentialRow?, scopes: [PolicyScope]
    ) {
        self.principals = principals
        self.bucket = bucket
        self.bucketFlaw = bucketFlaw
        self.credential = credential
        self.cdnCredential = cdnCredential
        self.scopes = scopes
        isComplete = principals.allSatisfy(\.isComplete)
    }

    /// Returns the credential that signs for a row of the bucket.
    func credential(for row: BucketRow) -> CredentialRow? {
        row.binding.isOfCDN ? cdnCredential : credential
    }

    /// Records that the rows are in use.
    func markUsed() {
        if !wasUsed.load(ordering: .relaxed) { wasUsed.store(true, ordering: .relaxed) }
    }

    /// Returns whether the rows were used since the last call, and resets the mark.
    func takeUse() -> Bool { wasUsed.exchange(false, ordering: .relaxed) }

    /// The keys of the rows.
    var keys: [PolicyKey] {
        var keys = principals.map { PolicyKey.principal($0.principal) }
        if let bucket { keys.append(.bucket(bucket.bucket.name)) }
        if let credential { keys.append(.credential(credential.credential.id)) }
        if let cdnCredential { keys.append(.credential(cdnCredential.credential.id)) }
        return keys
    }
}
