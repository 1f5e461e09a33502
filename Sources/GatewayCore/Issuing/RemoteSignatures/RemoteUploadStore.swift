/// Remembers multipart uploads that clients start with signatures from this gateway. The store reports their ids only
/// to the clients.
public protocol RemoteUploadStore: Sendable {
    /// Records that a user is about to start an upload, whose signature is on record.
    ///
    /// - Throws: `unavailable`.
    func begin(_ upload: RemoteUpload, contentType: String) async throws(GatewayError)

    /// Binds an upload id to a user who started an upload to the key, unless the id is already bound. Which of several
    /// starts it was, only the client knows.
    ///
    /// - Returns: The content types of these starts, that of the bound one first, at most 17; `nil` if the id is bound
    ///   to another user or key, or if the user started no upload.
    /// - Throws: `unavailable`.
    func contentTypes(ofUpload id: String, _ upload: RemoteUpload) async throws(GatewayError) -> [String]?
}
