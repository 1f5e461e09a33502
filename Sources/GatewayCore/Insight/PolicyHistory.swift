public import FoundationEssentials

/// Reads past policy, and grants near a requested key.
///
/// All methods throw `slowDown` or `unavailable` if the rows cannot be read.
public protocol PolicyHistory: Sendable {
    /// Returns the last policy change at or before an instant; `nil` if there was none. For the distant past, only
    /// changes of grants and memberships are known, and the last of these is returned.
    func moment(at instant: Date) async throws(GatewayError) -> PolicyMoment?

    /// Returns a policy change by its number; `nil` if there is none. For the distant past, only changes of grants and
    /// memberships are known, and the last of these up to the number is returned.
    func moment(ofChange sequence: Int64) async throws(GatewayError) -> PolicyMoment?

    /// Returns the groups that rows put a user in after a change.
    func groups(of principal: Principal, after sequence: Int64) async throws(GatewayError) -> [Principal]

    /// Returns the grants of some principals that may match a key after a change: literal grants that cover it, and
    /// templates. The number is bounded as in decisions. For a listing, also those that deny below its folder.
    func grants(
        of principals: [Principal], in bucket: BucketName, for key: ObjectKey, listing folder: ExactText?,
        after sequence: Int64
    ) async throws(GatewayError) -> [Grant]

    /// Returns a grant as it was after a change; `nil` if it did not exist.
    func grant(_ id: UUID, after sequence: Int64) async throws(GatewayError) -> Grant?

    /// Returns live allow grants near a key: grants of some principals in the bucket whose prefixes are adjacent to the
    /// key in sort order, and grants of anyone that cover the key. There are at most some tens of each.
    func grants(
        near key: ObjectKey, in bucket: BucketName, of principals: [Principal]
    ) async throws(GatewayError) -> [Grant]
}

/// An entry of the policy log.
public struct PolicyMoment: Sendable, Equatable {
    /// Number of the change.
    public var sequence: Int64
    /// When the change was committed, by the database's clock.
    public var at: Date

    /// Creates an entry.
    public init(sequence: Int64, at: Date) {
        self.sequence = sequence
        self.at = at
    }
}
