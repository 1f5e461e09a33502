public import Foundation

/// Reads policy as it was, and what lies beside what was asked for.
///
/// All throw `slowDown` or `unavailable` where the rows cannot be read.
public protocol PolicyHistory: Sendable {
    /// The last change of policy up to an instant, or of changes long ago the last one of grants and memberships; `nil` where there
    /// was none.
    func moment(at instant: Date) async throws(GatewayError) -> PolicyMoment?

    /// A change of policy by its number. Of changes long ago only those of grants and memberships are known: the last of these up
    /// to the number, then. `nil` where there is none.
    func moment(ofChange sequence: Int64) async throws(GatewayError) -> PolicyMoment?

    /// Groups that rows put a user in after a change.
    func groups(of principal: Principal, after sequence: Int64) async throws(GatewayError) -> [Principal]

    /// Grants of principals that may match a key after a change: literal ones that cover it, and templates, within the bound
    /// that decisions look at.
    func grants(
        of principals: [Principal], in bucket: BucketName, for key: ObjectKey, after sequence: Int64
    ) async throws(GatewayError) -> [Grant]

    /// A grant as it stood after a change; `nil` where there was none.
    func grant(_ id: UUID, after sequence: Int64) async throws(GatewayError) -> Grant?

    /// Live grants that allow and are near a key: those of some principals in the bucket whose prefixes come next to it in
    /// order, and those of anybody that cover it; some tens of each.
    func grants(
        near key: ObjectKey, in bucket: BucketName, of principals: [Principal]
    ) async throws(GatewayError) -> [Grant]
}

/// A line of the log of changes.
public struct PolicyMoment: Sendable, Equatable {
    /// Its number.
    public var sequence: Int64
    /// When it was committed, by the database's clock.
    public var at: Date

    /// Pairs them.
    public init(sequence: Int64, at: Date) {
        self.sequence = sequence
        self.at = at
    }
}
