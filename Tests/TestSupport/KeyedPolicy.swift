public import GatewayCore

/// Policy that is read by keys alone: no grant is found by its place.
public protocol KeyedPolicy: PolicySource {
    /// Where the log of changes ends.
    var position: PolicyPosition { get }
}

extension KeyedPolicy {
    /// Finds no grant at any place.
    public func grants(at places: [GrantPlace]) async throws(GatewayError) -> PolicyLoad<[[Grant]?]> {
        PolicyLoad(position: position, rows: [[Grant]?](repeating: [], count: places.count))
    }

    /// Finds no grant around any prefix.
    public func grants(
        of principals: [Principal], in bucket: BucketName, around prefix: ExactText, limit: Int
    ) async throws(GatewayError) -> PolicyLoad<[Grant]> {
        PolicyLoad(position: position, rows: [])
    }

    /// Finds no grant in any bucket.
    public func firstGrants(
        of principals: [Principal], in bucket: BucketName?, around prefix: ExactText, limit: Int
    ) async throws(GatewayError) -> PolicyLoad<[Grant]> {
        PolicyLoad(position: position, rows: [])
    }
}
