import LibCurl
public import LocalFiles

/// Downloads objects. A download that was cut off goes on where it stopped, in this run or in a later one.
public struct ObjectDownload: Sendable {
    /// What became of a download.
    public struct Outcome: Sendable, Equatable {
        /// Which object.
        public var address: ObjectAddress
        /// Its length in bytes.
        public var size: Int64
        /// Its entity tag, if the store told it.
        public var etag: String?
        /// Its content type, if the store told it.
        public var contentType: String?
        /// What was compared with what the store tells: `md5`, `sha256`, `length` where it tells no digest, or
        /// `nothing` where it tells neither.
        public var checked: String
    }

    private let client: GatewayClient
    private let memory: TransferMemory
    private let transfer: LinkTransfer

    /// Prepares downloads.
    public init(client: GatewayClient, memory: TransferMemory, stop: StopFlag, meter: TransferMeter) {
        self.client = client
        self.memory = memory
        transfer = LinkTransfer(timeout: client.timeout, stop: stop, meter: meter)
    }

    /// Downloads an object to a file, which appears under its name when it is complete. Until then its beginning is in
    /// a file beside it whose name ends with `.sluice-part`.
    ///
    /// - Parameters:
    ///   - address: Which object.
    ///   - name: Name of the file.
    ///   - replaces: Whether a file that has this name at the end is replaced, in one step. The new one keeps its
    ///     permissions. Where a symbolic link has the name, the file that it leads to is replaced.
    public func fetch(
        _ address: ObjectAddress, to name: String, replaces: Bool
    ) async throws(ClientFailure) -> Outcome {
        let part = try PartFile.reserve(for: name, replaces: replaces)
        // What is kept belongs to the file, which downloads of different objects have in turn.
        let kept = TransferMemory.name("get", part.place)
        let source = TransferMemory.name(client.origin, address.bucket, address.key)
        let sink = DownloadSink(part.file, startsOver: true, meter: transfer.meter)
        if let begun = begun(kept, of: source, in: part) {
            try await sink.takeUp(etag: begun.etag, stop: transfer.stop)
        } else {
            memory.forget(kept)
            try part.empty()
        }
        let outcome: Outcome
        do throws(ClientFailure) {
            outcome = try await fetch(address, into: sink) { etag in
                memory.keep(kept, BegunDownload(source: source, inode: part.inode, etag: etag))
            }
        } catch {
            switch error {
            case .stopped where !sink.fields.isEmpty:
                guard begun(kept, of: source, in: part) != nil else {
                    part.remove()
                    throw .stopped("Interrupted. Nothing was kept, because '\(memory.directory)' cannot be written.")
                }
                throw .stopped(
                    "Interrupted. \(sink.bytes) bytes are in '\(part.path)'. Run the same command again to go on.")
            case .stopped, .different:
                part.remove()
                memory.forget(kept)
                if case .stopped = error, sink.bytes > 0 {
                    throw .stopped("Interrupted. Nothing was kept, because this download cannot be continued.")
                }
            default:
                if sink.bytes == 0 { part.remove() }
            }
            throw error
        }
        try part.finish()
        memory.forget(kept)
        return outcome
    }

    /// Returns what was kept of the download to a file; `nil` if a later run could not go on with it.
    private func begun(_ kept: String, of source: String, in part: PartFile) -> BegunDownload? {
        guard let begun = memory.read(kept, as: BegunDownload.self), begun.source == source, begun.inode == part.inode
        else { return nil }
        return begun
    }

    /// Downloads an object to an open file, such as standard output.
    public func fetch(_ address: ObjectAddress, to file: OpenFile) async throws(ClientFailure) -> Outcome {
        try await fetch(address, into: DownloadSink(file, startsOver: false, meter: transfer.meter)) { _ in }
    }

    private func fetch(
        _ address: ObjectAddress, into sink: DownloadSink, began: @escaping @Sendable (String) -> Void
    ) async throws(ClientFailure) -> Outcome {
        let lost = try await client.use(LinkRequest(downloading: address)) {
            (link) async throws(ClientFailure) -> ClientFailure? in
            do throws(ClientFailure) {
                try await attempt(link, sink, began)
                return nil
            } catch {
                // A later attempt would only bring the bytes again that are written and cannot be taken back.
                guard error.mayPass, !sink.canGoOn else { throw error }
                return error
            }
        }
        if let lost { throw lost }
        return try sink.outcome(address)
    }

    /// Downloads what is missing.
    private func attempt(
        _ link: Link, _ sink: DownloadSink, _ began: @escaping @Sendable (String) -> Void
    ) async throws(ClientFailure) {
        let fields = sink.fields
        do throws(ClientFailure) {
            let head = try await transfer.get(link, fields: fields) { head, bytes in
                if let etag = sink.begin(head) { began(etag) }
                return sink.take(bytes)
            }
            // An empty object has no bytes that would have announced the head.
            if let etag = sink.begin(head) { began(etag) }
        } catch {
            if sink.endAttempt() { return try await attempt(link, sink, began) }
            if let failure = sink.failure { throw failure }
            // The object is not longer than what is there, so it is another one.
            if case .store(let refusal, _) = error, refusal.status == 416, !fields.isEmpty {
                try sink.forget()
                throw .unreachable("The object changed.")
            }
            throw error
        }
        if sink.endAttempt() { return try await attempt(link, sink, began) }
        if let failure = sink.failure { throw failure }
        guard sink.isComplete else { throw .unreachable("The store ended the answer early.") }
    }
}
