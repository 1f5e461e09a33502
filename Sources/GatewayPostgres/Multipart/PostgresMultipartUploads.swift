public import Foundation
public import GatewayCore
import LibCrypto
public import LibPQ

/// Remembers uploads in parts in PostgreSQL.
public struct PostgresMultipartUploads: MultipartUploadRows {
    private let connection: PostgresConnection
    private let now: @Sendable () -> Date

    private static let maxPageSize = 1000

    /// Keeps rows over a connection, which may be shared.
    ///
    /// - Parameters:
    ///   - connection: Logged in as the gateway.
    ///   - now: The time, for identifiers of audit rows.
    public init(connection: PostgresConnection, now: @escaping @Sendable () -> Date) {
        self.connection = connection
        self.now = now
    }

    /// Adds an upload, in the state `starting`.
    public func insert(_ upload: MultipartUpload) async throws(GatewayError) {
        _ = try await execute(MultipartStatements.insert, upload)
    }

    /// Reads an upload.
    public func find(_ id: UUID) async throws(GatewayError) -> MultipartUpload? {
        try await execute(MultipartStatements.find, id).first
    }

    /// Writes down what the store calls an upload, and opens it; one that was given up meanwhile is to be aborted instead.
    public func open(_ id: UUID, as storeUploadID: String) async throws(GatewayError) -> MultipartUpload.State {
        guard let state = try await execute(MultipartStatements.open, (id, storeUploadID)).first else {
            throw .unavailable(retryAfter: 1)
        }
        return state
    }

    /// Changes the state of an upload if it is in one of some; answers whether it was.
    public func move(
        _ id: UUID, from states: Set<MultipartUpload.State>, to change: MultipartChange
    ) async throws(GatewayError) -> Bool {
        try await !execute(MultipartStatements.move, (id, states, change)).isEmpty
    }

    /// Writes down parts that are about to be issued, all or none; with none only adds up.
    public func reserve(_ parts: [ReservedPart], of id: UUID) async throws(GatewayError) -> PartReservation {
        guard let answer = try await execute(MultipartStatements.reserve, (id, parts)).first else {
            throw .unavailable(retryAfter: 1)
        }
        return answer
    }

    /// Takes back parts that were not issued.
    public func release(_ issuances: [UUID]) async throws(GatewayError) {
        _ = try await execute(MultipartStatements.release, issuances)
    }

    /// The store's identifiers of all other uploads that are known on the key of an upload.
    public func storeUploadIDs(besides upload: MultipartUpload) async throws(GatewayError) -> Set<String> {
        Set(try await execute(MultipartStatements.storeUploadIDs, upload))
    }

    /// Writes into the audit that somebody has an upload aborted.
    public func noteAbort(of id: UUID, by change: ChangeContext) async throws(GatewayError) {
        guard let random = try? randomBytes(count: 10) else { throw .unavailable(retryAfter: 1) }
        let entry = UUID.version7(at: now(), randomBytes: random)
        _ = try await execute(MultipartStatements.audit, (entry, id, change))
    }

    /// Reads a page of uploads, the oldest first.
    public func list(_ query: ListQuery) async throws(GatewayError) -> Page<MultipartUpload> {
        for name in query.filters.keys where !["state", "bucket", "principal"].contains(name) {
            throw .invalidArgument(field: name, reason: "There is no such filter.")
        }
        if let state = query.filters["state"], MultipartUpload.State(rawValue: state) == nil {
            throw .invalidArgument(field: "state", reason: "No upload can be in this state.")
        }
        let tokens = PageToken(of: .multipartUpload, filters: query.filters)
        var after: UUID?
        if let token = query.pageToken {
            guard let id = UUID(uuidString: try tokens.values(in: token, count: 1)[0]) else { throw PageToken.foreign }
            after = id
        }
        let limit = min(max(query.pageSize, 1), Self.maxPageSize)
        // One more tells whether there is a next page.
        var uploads = try await execute(MultipartStatements.page, (query.filters, after, Int64(limit) + 1))
        guard uploads.count > limit else { return Page(items: uploads, nextPageToken: nil) }
        uploads.removeLast()
        return Page(items: uploads, nextPageToken: uploads.last.map { tokens.text(after: [$0.id.lowercaseText]) })
    }

    private func execute<Parameters, Row>(
        _ statement: Statement<Parameters, Row>, _ parameters: Parameters
    ) async throws(GatewayError) -> [Row] {
        do throws(PostgresError) {
            return try await connection.execute(statement, parameters)
        } catch {
            throw error.asGatewayError
        }
    }
}
