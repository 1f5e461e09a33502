import FoundationEssentials
import LibCrypto

/// Uploads files: small ones by one link, large ones in parts, which can be taken up again after an interruption.
public struct ObjectUpload: Sendable {
    /// What an upload is to be like.
    public struct Options: Sendable {
        /// The type of the object.
        public var contentType: String
        /// The object's own metadata.
        public var metadata: [String: String] = [:]
        /// Whether an object that exists is kept, and the upload refused. Only files of one part can be uploaded so.
        public var createsOnly = false
        /// Length of a part in bytes. Longer files are uploaded in parts.
        public var partSize: Int64 = ObjectUpload.defaultPartSize
        /// Number of parts that are sent at once.
        public var parallel = 4
        /// Whether the gateway is asked what arrived.
        public var confirms = true
        /// Whether an upload that was interrupted is taken up.
        public var resumes = true

        /// Options for a type.
        public init(contentType: String) { self.contentType = contentType }
    }

    /// What became of an upload.
    public struct Outcome: Sendable, Equatable {
        /// Where the object is.
        public var address: ObjectAddress
        /// Its length in bytes.
        public var size: Int64
        /// Its entity tag, if the store told it.
        public var etag: String?
        /// Identifies the issuance or the upload in the ledger.
        public var id: String
        /// What the gateway found at the store: `landed` or `unverified`; `nil` if it was not asked or could not tell.
        public var state: String?
        /// Number of parts; `nil` for an upload by one link.
        public var parts: Int?
    }

    /// Length of a part unless the user names another.
    public static let defaultPartSize: Int64 = 16 << 20
    /// Least length of a part that stores accept, except for the last.
    public static let leastPartSize: Int64 = 5 << 20
    /// Stores accept no more parts.
    static let maxParts: Int64 = 10_000

    let client: GatewayClient
    let memory: TransferMemory
    let stop: StopFlag
    let transfer: LinkTransfer
    let options: Options

    /// Prepares uploads.
    ///
    /// - Parameters:
    ///   - client: Asks the gateway.
    ///   - memory: Where to keep what an interrupted upload needs.
    ///   - options: What the object is to be like.
    ///   - stop: Ends the upload.
    ///   - meter: Counts bytes.
    public init(
        client: GatewayClient, memory: TransferMemory, options: Options, stop: StopFlag, meter: TransferMeter
    ) {
        self.client = client
        self.memory = memory
        self.options = options
        self.stop = stop
        transfer = LinkTransfer(timeout: client.timeout, stop: stop, meter: meter)
    }

    /// Uploads a file.
    public func send(_ file: LocalFile, to address: ObjectAddress) async throws(ClientFailure) -> Outcome {
        try check(file)
        await endReplaced(file, address)
        return try await isWhole(file) ? sendWhole(file, to: address) : sendParts(of: file, to: address)
    }

    /// Checks that the file can be sent with these options.
    public func check(_ file: LocalFile) throws(ClientFailure) {
        // The contract binds creation to a link only. Without it, an object that exists would be replaced.
        guard isWhole(file) || !options.createsOnly else {
            throw .usage(
                "'--create-only' is for files of one part, and '\(file.path)' is longer. Use '--part-size', up to 5G.")
        }
    }

    /// Whether the file goes up by one link.
    func isWhole(_ file: LocalFile) -> Bool { file.size <= options.partSize }

    private func sendWhole(_ file: LocalFile, to address: ObjectAddress) async throws(ClientFailure) -> Outcome {
        let digests = try await file.digests(of: 0..<file.size, stop: stop)
        var request = LinkRequest(uploading: address)
        request.contentType = options.contentType
        request.contentMD5 = digests.md5.base64
        request.contentLength = file.size
        request.metadata = options.metadata.isEmpty ? nil : options.metadata
        request.ifNoneMatch = options.createsOnly ? "*" : nil
        let link = try await link(for: &request, digests)
        let wish = request
        let first = RenewableLink(link, now: .now)
        var ids = [link.id]
        var lost: StoreRefusal?
        var isUnanswered = false
        let etag = try await client.retries.use(first) { () async throws(ClientFailure) -> Link in
            let fresh = try await client.link(wish)
            ids.append(fresh.id)
            return fresh
        } _: { (link) async throws(ClientFailure) -> String? in
            do throws(ClientFailure) {
                return try await transfer.put(link, file, 0..<file.size)
            } catch {
                isUnanswered = isUnanswered || error.mayHaveBeenDone
                // The object that exists may be the one whose answer was lost.
                guard case .store(let refusal, _) = error, refusal.meansExists, isUnanswered else { throw error }
                lost = refusal
                return nil
            }
        }
        try file.checkUnchanged()
        let (id, state) =
            if let lost {
                try await landed(ids, size: file.size, or: lost)
            } else {
                (ids[ids.count - 1], try await confirmed(ids[ids.count - 1], size: file.size))
            }
        return Outcome(address: address, size: file.size, etag: state?.etag ?? etag, id: id, state: state?.state)
    }

    /// Finds the link that has made the object which exists. Without one, the object is another, and the store was
    /// right to refuse.
    private func landed(
        _ ids: [String], size: Int64, or refusal: StoreRefusal
    ) async throws(ClientFailure) -> (String, UploadState?) {
        for id in ids {
            let found = try await client.confirm(id)
            if found.state == "landed", found.size == size { return (id, found) }
        }
        throw .store(refusal, retryAfter: nil)
    }

    /// Asks for a link. The SHA-256 is added if the bucket requires it: the client does not know the scheme, and the
    /// gateway says what is missing.
    private func link(
        for request: inout LinkRequest, _ digests: ContentDigests
    ) async throws(ClientFailure) -> Link {
        do throws(ClientFailure) { return try await client.link(request) } catch {
            guard error.asksForSHA256 else { throw error }
        }
        request.checksumSHA256 = digests.sha256.base64
        return try await client.link(request)
    }

    /// Asks the gateway what arrived.
    ///
    /// - Returns: `nil` if it cannot tell, or if the user asks for the end: the store has taken the bytes, and neither
    ///   changes anything about that.
    func confirmed(_ id: String, size: Int64) async throws(ClientFailure) -> UploadState? {
        guard options.confirms, let state = try? await client.confirm(id) else { return nil }
        guard ["landed", "unverified"].contains(state.state) else {
            let what = (state.mismatches ?? []).joined(separator: ", ")
            throw .different(
                "The object at the store is not what was sent: \(state.state)" + (what.isEmpty ? "." : " (\(what))."))
        }
        if let found = state.size, found != size {
            throw .different("The object at the store has \(found) bytes instead of \(size).")
        }
        return state
    }
}

extension ClientFailure {
    /// Whether the bucket's uploads need a SHA-256.
    var asksForSHA256: Bool {
        guard case .gateway(let problem, _) = self else { return false }
        return problem.status == 400 && problem.field == "checksumSHA256"
    }
}
