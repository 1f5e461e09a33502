public import Foundation

/// Finds out what became of uploads that were permitted.
public protocol UploadVerifier: Sendable {
    /// Asks the store what lies under a key now.
    ///
    /// - Returns: What the store says; `nil` where nobody can ever ask it.
    /// - Throws: Where the store does not answer, so that asking later may help.
    func look(at key: ObjectKey, in bucket: BucketName) async throws -> StoreLook?
}

/// What a store says of a key.
public struct StoreLook: Sendable, Equatable {
    /// The object that lies there; `nil` where none does.
    public var object: StoredObject?
    /// Whether the store tells that an object was deleted there; some with versions do, Ceph does not.
    public var wasDeleted: Bool
    /// Seconds by which the store's clock differs from the gateway's at the least, 0 where it may be the same; `nil` where the
    /// store did not tell the time.
    public var clockDifference: TimeInterval?

    /// Puts an answer together.
    public init(object: StoredObject?, wasDeleted: Bool = false, clockDifference: TimeInterval?) {
        self.object = object
        self.wasDeleted = wasDeleted
        self.clockDifference = clockDifference
    }

    /// Why nothing can have arrived by an upload, as far as the store tells.
    public enum Proof: String, Sendable, CaseIterable {
        /// Nothing lies under the key, and it is not said that something did.
        case absent
        /// What lies there is older than the permission.
        case older
    }

    /// What the answer proves of an upload whose links are all dead; `nil` where bytes of it may have arrived.
    ///
    /// An object of the time of the upload proves nothing, whatever its size: it may have replaced a larger one, which came by the
    /// same form or by another link. Stores round times to seconds. Objects that were made in parts may bear the time at which
    /// that began, so that their age says nothing of what they replaced.
    /// - Parameters:
    ///   - permittedAt: When the upload was permitted.
    ///   - maxClockDifference: Seconds by which the clocks of gateway, database and store may differ.
    public func proof(against permittedAt: Date, maxClockDifference: TimeInterval) -> Proof? {
        guard let object else { return wasDeleted ? nil : .absent }
        guard object.isMadeAtOnce, let modifiedAt = object.modifiedAt,
            modifiedAt < permittedAt.addingTimeInterval(-1 - maxClockDifference)
        else { return nil }
        return .older
    }
}

extension StoredObject {
    /// Whether it was made by one request: entity tags of others name the number of parts.
    fileprivate var isMadeAtOnce: Bool {
        etag.map { !$0.utf8.contains(UInt8(ascii: "-")) } ?? false
    }
}
