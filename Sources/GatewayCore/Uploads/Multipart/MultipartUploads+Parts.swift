public import FoundationEssentials

extension MultipartUploads {
    /// Lists the parts that the store holds of an upload of the caller. The caller's current grants must still permit
    /// the upload.
    ///
    /// This issues nothing, so nothing is recorded or charged: the gateway asks the store with a URL that it keeps to
    /// itself.
    /// - Parameters:
    ///   - id: The upload.
    ///   - query: The page to read.
    ///   - context: The caller and the circumstances of the request.
    /// - Throws: `notFound`, also for an upload of another principal; `conflict` if the upload no longer holds parts;
    ///   the refusal; `invalidArgument` for an invalid token; `storeRefused`; `unavailable`.
    public func storedParts(
        of id: UUID, _ query: ListQuery, in context: RequestContext
    ) async throws(GatewayError) -> Page<StoredPart> {
        let upload = try await upload(id, of: context.caller)
        guard upload.state == .open || upload.state == .completing, let storeUploadID = upload.storeUploadID else {
            throw .conflict(reason: "The upload is \(upload.state.rawValue).")
        }
        let token = PageToken(of: "multipart-parts", filters: ["upload": id.lowercaseText])
        var last = 0
        if let text = query.pageToken {
            guard let number = Int(try token.values(in: text, count: 1)[0]), 1...UploadedPart.maxCount ~= number else {
                throw PageToken.foreign
            }
            last = number
        }
        try await issuing.check(IssueRequest(listing: upload, storeUploadID: storeUploadID), in: context)
        let found: StoredParts
        do throws(GatewayError) {
            found = try await store.parts(of: upload, after: last, atMost: query.pageSize)
        } catch .notFound {
            // A client that goes on with an open upload would come here again and again. Upkeep asks the store again.
            if upload.state == .open { _ = try await rows.move(id, from: [.open], to: .aborting) }
            throw .conflict(reason: "The store no longer knows the upload.")
        }
        return Page(items: found.parts, nextPageToken: found.next.map { token.text(after: [String($0)]) })
    }
}
