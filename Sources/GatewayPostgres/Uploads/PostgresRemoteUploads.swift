public import GatewayCore
public import LibPQ
public import Logging

/// Remembers in PostgreSQL which user started which remotely signed multipart upload.
public struct PostgresRemoteUploads: RemoteUploadStore {
    private let pool: StorePool

    /// Creates a store.
    ///
    /// - Parameters:
    ///   - pool: Connections logged in as the gateway.
    ///   - logger: Receives the reasons why rows cannot be read or written.
    public init(pool: PostgresPool, logger: Logger) {
        self.pool = StorePool(
            pool: pool, logger: logger, complaint: "remote uploads cannot be read or written")
    }

    /// Records that a user is about to start an upload.
    public func begin(_ upload: RemoteUpload, contentType: String) async throws(GatewayError) {
        _ = try await pool.execute(Self.begin, (upload, contentType))
    }

    /// Binds the identifier of an upload to a user who has started an upload of the key, and returns the content types
    /// that it may have.
    public func contentTypes(
        ofUpload id: String, _ upload: RemoteUpload
    ) async throws(GatewayError) -> [String]? {
        try await pool.execute(Self.bind, (upload, id)).first ?? nil
    }

    static let begin = Statement<(upload: RemoteUpload, contentType: String), Bool>(
        "SELECT begin_remote_upload($1, $2, $3, $4) IS NULL"
    ) {
        [$0.upload.principal.rawValue, $0.upload.bucket.rawValue, $0.upload.key.rawValue, $0.contentType]
    }

    static let bind = Statement<(upload: RemoteUpload, id: String), [String]?>(
        "SELECT remote_upload_types($1, $2, $3, $4)"
    ) {
        [$0.upload.principal.rawValue, $0.upload.bucket.rawValue, $0.upload.key.rawValue, $0.id]
    }
}
