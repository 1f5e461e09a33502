/// A row that admins manage. A kind that says nothing more is closed to delegated admins.
public protocol ManagedRow: Sendable {
    /// The kind of row, as errors such as `NoSuchBucket` name it.
    static var kind: ResourceKind { get }

    /// The identifier in stores.
    var identifier: String { get }

    /// Whether an admin with a reach may see the row.
    func isVisible(within reach: AdminReach) -> Bool

    /// Whether an admin with a reach may create, change and remove the row.
    func isChangeable(within reach: AdminReach) -> Bool
}

extension ManagedRow {
    /// Whether the reach is unlimited.
    public func isVisible(within reach: AdminReach) -> Bool { reach.isUnlimited }

    /// Whether the reach is unlimited.
    public func isChangeable(within reach: AdminReach) -> Bool { reach.isUnlimited }
}

extension Grant: ManagedRow {
    /// The kind in errors.
    public static var kind: ResourceKind { .grant }

    /// The identifier: a UUID in lower case.
    public var identifier: String { id.lowercaseText }

    /// Whether the grant lies inside: allow or deny, literal or template.
    public func isVisible(within reach: AdminReach) -> Bool {
        reach.holds(bucket: bucket.rawValue, place: prefix.text, principals: [principal.rawValue])
    }

    /// Whether the grant lies inside.
    public func isChangeable(within reach: AdminReach) -> Bool { isVisible(within: reach) }
}

extension Bucket: ManagedRow {
    /// The kind in errors.
    public static var kind: ResourceKind { .bucket }

    /// The identifier: the name.
    public var identifier: String { name.rawValue }

    /// Whether a scope names the bucket.
    public func isVisible(within reach: AdminReach) -> Bool {
        reach.scopes?.contains { $0.bucket == name } ?? true
    }
}

extension Quota: ManagedRow {
    /// The kind in errors.
    public static var kind: ResourceKind { .quota }

    /// The identifier: a UUID in lower case.
    public var identifier: String { id.lowercaseText }

    /// Whether the quota limits a principal that a scope names, in the scope's bucket or in all; or whether it is for
    /// a bucket that a scope covers as a whole, for all principals.
    ///
    /// A quota counts everything that its principal does in the bucket, so that others than those named would show
    /// through a scope that ends at a prefix.
    public func isVisible(within reach: AdminReach) -> Bool {
        guard let scopes = reach.scopes else { return true }
        return scopes.contains { scope in
            guard let patterns = scope.principals else {
                return scope.prefix.rawValue.isEmpty && bucket == scope.bucket
            }
            return (bucket == nil || bucket == scope.bucket) && patterns.contains { $0.matches(principal.rawValue) }
        }
    }
}

extension StorageCredential: ManagedRow {
    /// The kind in errors.
    public static var kind: ResourceKind { .storageCredential }

    /// The identifier: a UUID in lower case.
    public var identifier: String { id.lowercaseText }
}

extension GroupMember: ManagedRow {
    /// The kind in errors.
    public static var kind: ResourceKind { .groupMember }
}

extension Issuer: ManagedRow {
    /// The kind in errors.
    public static var kind: ResourceKind { .issuer }

    /// The identifier: a UUID in lower case.
    public var identifier: String { id.lowercaseText }
}

extension APIKey: ManagedRow {
    /// The kind in errors.
    public static var kind: ResourceKind { .apiKey }

    /// The identifier: a UUID in lower case.
    public var identifier: String { id.lowercaseText }
}

extension Ticket: ManagedRow {
    /// The kind in errors.
    public static var kind: ResourceKind { .ticket }

    /// The identifier: a UUID in lower case.
    public var identifier: String { id.lowercaseText }
}
