public import FoundationEssentials

/// A store's answer about a key.
public struct StoreLook: Sendable, Equatable {
    /// The object at the key; `nil` if there is none.
    public var object: StoredObject?
    /// Whether the store reports that an object was deleted at the key. Some stores with versioning do; Ceph does not.
    public var wasDeleted: Bool
    /// Minimum number of seconds by which the store's clock differs from the gateway's; 0 if the clocks may agree;
    /// `nil` if the store sent no time.
    public var clockDifference: TimeInterval?

    /// Creates an answer from its parts.
    public init(object: StoredObject?, wasDeleted: Bool = false, clockDifference: TimeInterval?) {
        self.object = object
        self.wasDeleted = wasDeleted
        self.clockDifference = clockDifference
    }

    /// The reason why no bytes can have arrived by an upload, judging by the store's answer.
    public enum Proof: String, Sendable, CaseIterable {
        /// No object is at the key, and the store reports no deletion.
        case absent
        /// The object at the key is older than the permission.
        case older
    }

    /// Returns what the answer proves about an upload whose links have all expired; `nil` if bytes of it may have
    /// arrived.
    ///
    /// An object from the time of the upload proves nothing, whatever its size: it may have replaced a larger one,
    /// which came by the same form or by another link. Stores round times to seconds. The time of an object made in
    /// parts may be the time at which its upload began, so its age says nothing about the object it replaced.
    /// - Parameters:
    ///   - permittedAt: When the upload was permitted.
    ///   - maxClockDifference: Maximum difference, in seconds, between the clocks of gateway, database and store.
    public func proof(against permittedAt: Date, maxClockDifference: TimeInterval) -> Proof? {
        guard let object else { return wasDeleted ? nil : .absent }
        guard object.isMadeAtOnce, let modifiedAt = object.modifiedAt,
            modifiedAt < permittedAt.addingTimeInterval(-1 - maxClockDifference)
        else { return nil }
        return .older
    }
}

extension StoredObject {
    /// Whether the object was created by a single request. The entity tags of all others contain the number of parts.
    fileprivate var isMadeAtOnce: Bool {
        etag.map { !$0.utf8.contains(UInt8(ascii: "-")) } ?? false
    }
}
