public import Foundation
public import GatewayCore
import Synchronization

/// Rows of uploads in parts, in memory.
public final class MemoryUploadRows: MultipartUploadRows {
    private struct Tables {
        var uploads: [UUID: MultipartUpload] = [:]
        var reserved: [UUID: [ReservedPart]] = [:]
        var reservation: PartReservation?
        var lastChange: MultipartChange?
        var audited: [String] = []
        var admitsAdmins = true
    }

    private let tables = Mutex(Tables())

    /// Makes a table without rows.
    public init() {}

    /// The uploads.
    public var uploads: [UUID: MultipartUpload] {
        get { tables.withLock { $0.uploads } }
        set { tables.withLock { $0.uploads = newValue } }
    }

    /// The parts that links were issued for, by upload.
    public var reserved: [UUID: [ReservedPart]] {
        get { tables.withLock { $0.reserved } }
        set { tables.withLock { $0.reserved = newValue } }
    }

    /// The answer to each reservation; `nil` for the true one.
    public var reservation: PartReservation? {
        get { tables.withLock { $0.reservation } }
        set { tables.withLock { $0.reservation = newValue } }
    }

    /// Whether the credentials of admins stand.
    public var admitsAdmins: Bool {
        get { tables.withLock { $0.admitsAdmins } }
        set { tables.withLock { $0.admitsAdmins = newValue } }
    }

    /// The requests of admins that the audit tells of, in order.
    public var audited: [String] { tables.withLock { $0.audited } }

    /// The last change of an upload that was made.
    public var lastChange: MultipartChange? { tables.withLock { $0.lastChange } }

    /// The state of an upload; `nil` if there is none.
    public func state(of id: UUID) -> MultipartUpload.State? { uploads[id]?.state }

    /// Adds an upload.
    public func insert(_ upload: MultipartUpload) async throws(GatewayError) {
        tables.withLock { $0.uploads[upload.id] = upload }
    }

    /// Reads an upload; `nil` if there is none.
    public func find(_ id: UUID) async throws(GatewayError) -> MultipartUpload? { uploads[id] }

    /// Records the store's identifier of an upload, and opens the upload.
    public func open(_ id: UUID, as storeUploadID: String) async throws(GatewayError) -> MultipartUpload.State {
        tables.withLock { tables in
            tables.uploads[id]?.state = .open
            tables.uploads[id]?.storeUploadID = storeUploadID
        }
        return .open
    }

    /// Changes the state of an upload if it is in one of `states`; returns whether it was.
    public func move(
        _ id: UUID, from states: Set<MultipartUpload.State>, to change: MultipartChange
    ) async throws(GatewayError) -> Bool {
        tables.withLock { tables in
            guard var upload = tables.uploads[id], states.contains(upload.state) else { return false }
            switch change {
            case .refused: upload.state = .open
            case .completing(let parts): (upload.state, upload.parts) = (.completing, parts)
            case .completed(let parts, let etag, _):
                (upload.state, upload.parts, upload.etag) = (.completed, parts, etag)
            case .aborting: upload.state = .aborting
            case .aborted: upload.state = .aborted
            }
            tables.uploads[id] = upload
            tables.lastChange = change
            return true
        }
    }

    /// Tests whether the credentials of admins stand.
    public func prove(_ admin: ChangeContext) async throws(GatewayError) {
        guard admitsAdmins else { throw .staleCaller }
    }

    /// Changes the state of an upload if it is `state`, and tells the audit; returns whether it was.
    public func abort(
        _ id: UUID, from state: MultipartUpload.State, to change: MultipartChange, by admin: ChangeContext
    ) async throws(GatewayError) -> Bool {
        try await prove(admin)
        let isMoved = try await move(id, from: [state], to: change)
        if isMoved { tables.withLock { $0.audited.append(admin.requestID) } }
        return isMoved
    }

    /// Records parts, and adds up the lengths if all parts of the upload have one.
    public func reserve(_ parts: [ReservedPart], of id: UUID) async throws(GatewayError) -> PartReservation {
        tables.withLock { tables in
            if let reservation = tables.reservation { return reservation }
            let all = tables.reserved[id, default: []] + parts
            tables.reserved[id] = all
            let lengths = all.compactMap(\.contentLength)
            return .reserved(objectLength: lengths.count == all.count ? lengths.reduce(0, +) : nil)
        }
    }

    /// Removes the records of parts.
    public func release(_ issuances: [UUID]) async {
        tables.withLock { tables in
            for id in tables.reserved.keys {
                tables.reserved[id]?.removeAll { issuances.contains($0.issuance) }
            }
        }
    }

    /// Returns all uploads on one page, whatever the query.
    public func list(_ query: ListQuery) async throws(GatewayError) -> Page<MultipartUpload> {
        Page(items: Array(uploads.values), nextPageToken: nil)
    }
}
