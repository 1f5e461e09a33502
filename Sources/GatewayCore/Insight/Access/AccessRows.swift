/// Reads live grants by principal and by place, page by page, for reviews of access.
///
/// All methods throw `invalidArgument` for a token of another list, `slowDown` or `unavailable`. Texts are ordered by
/// their bytes.
public protocol AccessRows: Sendable {
    /// Reads the grants of some principals, by principal, bucket, prefix and identifier.
    ///
    /// - Parameters:
    ///   - principals: At most some hundreds.
    ///   - bucket: Only grants in this bucket; `nil` for all buckets.
    ///   - page: Size and token of the page; its filters name the question, and its reach narrows the grants.
    func grants(
        of principals: [Principal], in bucket: BucketName?, _ page: ListQuery
    ) async throws(GatewayError) -> Page<Grant>

    /// Reads the grants around a prefix, by prefix, principal and identifier: those that cover all of it, those below
    /// it, and templates that may do either.
    func grants(
        around prefix: ExactText, in bucket: BucketName, _ page: ListQuery
    ) async throws(GatewayError) -> Page<PlacedGrant>

    /// Reads the principals of grants that cover a key, or may cover it for some identity.
    ///
    /// - Parameters:
    ///   - includesMembers: Whether to include the members of these groups, as far as rows name them.
    ///   - page: Size and token of the page. Its reach narrows the principals to those for whom the key lies inside, so
    ///     that no token names another.
    func principals(
        reaching key: ObjectKey, in bucket: BucketName, includesMembers: Bool, _ page: ListQuery
    ) async throws(GatewayError) -> Page<Principal>

    /// Reads the grants of some principals that cover a key, or may cover it for some identity, in the order of
    /// ``grants(of:in:_:)``. Reads at most `limit` grants of each principal.
    func grants(
        of principals: [Principal], reaching key: ObjectKey, in bucket: BucketName, limit: Int
    ) async throws(GatewayError) -> [Grant]

    /// Counts the members of groups, as far as rows name them.
    func memberCounts(of groups: [Principal]) async throws(GatewayError) -> [Principal: Int64]
}

/// A grant around a prefix.
public struct PlacedGrant: Sendable, Equatable {
    /// Where the keys of a grant lie.
    public enum Relation: String, Sendable, CaseIterable {
        /// The grant covers every key that begins with the prefix.
        case covers
        /// The grant covers keys below the prefix only.
        case below
    }

    /// The grant as stored.
    public var grant: Grant
    /// Where its keys lie; for a template, where they may lie.
    public var relation: Relation

    /// Creates a placed grant.
    public init(grant: Grant, relation: Relation) {
        self.grant = grant
        self.relation = relation
    }
}
