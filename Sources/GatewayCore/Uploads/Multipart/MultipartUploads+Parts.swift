public import Foundation

extension MultipartUploads {
    /// Tells which parts the store has of an upload of the caller, by the grants as they are then.
    ///
    /// Nothing is issued by it, so that nothing is recorded or charged: the store is asked by a URL that stays here.
    /// - Parameters:
    ///   - id: The upload.
    ///   - query: Which page.
    ///   - context: Who asks.
    /// - Throws: `notFound`, also for somebody else's, `conflict` for an upload that holds no parts any more, the refusal,
    ///   `invalidArgument` for a token that is not ours, `storeRefused`, `unavailable`.
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
        try await urls.issuing.check(IssueRequest(listing: upload, storeUploadID: storeUploadID), in: context)
        let found: StoredParts
        do throws(GatewayError) {
            found = try await store.parts(of: upload, after: last, atMost: query.pageSize)
        } catch .notFound {
            throw .conflict(reason: "The store does not know the upload any more.")
        }
        return Page(items: found.parts, nextPageToken: found.next.map { token.text(after: [String($0)]) })
    }
}
