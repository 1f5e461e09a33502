public import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

extension Sluice {
    /// Downloads an object to a file. The file gets its name once it is complete, and replaces one that exists. Until
    /// then its beginning is in a file beside it, with `.sluice-part` at the end.
    ///
    /// A download that was cut off goes on where it stopped, also in a later call if the client keeps states, unless
    /// the object has changed. Objects with a `Content-Encoding` are decoded and start anew. While a download is under
    /// way, another one to the same file fails with ``ErrorCode/conflict``.
    ///
    /// - Returns: The download, which has begun.
    public func download(_ object: ObjectRequest, to file: URL) -> Transfer<DownloadResult> {
        Transfer { control in
            // The file has the beginning of one object only, so it names the state, which says of which.
            let name = fingerprint("get \(file.place)")
            guard self.namesInUse.withLock({ $0.insert(name).inserted }) else {
                throw SluiceError(.client, .conflict, detail: "Another download is writing this file.")
            }
            defer { self.namesInUse.withLock { _ = $0.remove(name) } }
            let identity = [self.url.absoluteString, object.bucket, object.key, object.versionID ?? ""]
            let begun = await self.state(name)
            let known = begun?.object == identity ? begun?.etag : nil
            if known == nil { await self.keep(nil, name) }
            let sink = try DownloadSink(file, from: known, control: control) { etag in
                await self.keep(TransferState(object: identity, etag: etag), name)
            }
            do {
                try await self.using({ _ in try await self.link(LinkRequest(object)) }) { link in
                    try await self.receive(link, sink)
                }
                try sink.putInPlace()
            } catch {
                await sink.close()
                // The beginning may be a mixture: no later call goes on with it.
                if (error as? SluiceError)?.code == .fileChanged { await self.keep(nil, name) }
                throw error
            }
            await sink.close()
            let done = sink.progress
            await self.keep(nil, name)
            return DownloadResult(
                bucket: object.bucket, key: object.key, size: done.offset, etag: done.etag.map(unquoted),
                contentType: done.contentType, file: file)
        }
    }

    private func receive(_ link: Link, _ sink: DownloadSink) async throws {
        var request = Self.request(link.method, link.url, headers: link.headers)
        let start = sink.progress
        if start.offset > 0, let etag = start.etag {
            request.setValue("bytes=\(start.offset)-", forHTTPHeaderField: "Range")
            request.setValue(etag, forHTTPHeaderField: "If-Range")
        }
        let answer: Answer
        do {
            answer = try await transport.send(request, sink: sink)
        } catch {
            // What was decoded has no place in the object to go on from.
            if sink.progress.isDecoded { try sink.restart() }
            throw error
        }
        if answer.status == 416, start.offset > 0 {
            // Everything was there already, or the object is shorter now.
            if answer.head.field("content-range") == "bytes */\(start.offset)" { return }
            try sink.restart()
            throw SluiceError.lost("The object changed.")
        }
        guard answer.isOK else { throw SluiceError(storeRefusal: answer) }
        let end = sink.progress
        if let total = end.total, end.offset < total { throw SluiceError.lost("The answer ended early.") }
    }
}

/// The file beside the one that is downloaded.
private final class DownloadSink: AnswerSink {
    struct Progress: Sendable {
        /// Bytes in the file.
        var offset: Int64 = 0
        var total: Int64?
        /// As the store writes it.
        var etag: String?
        var contentType: String?
        var isDecoded = false
        var keeping: Task<Void, Never>?
    }

    private let file: URL
    private let partial: URL
    private let handle: FileHandle
    private let control: TransferControl
    private let keep: @Sendable (_ etag: String?) async -> Void
    private let state = Locked(Progress())

    /// - Parameter etag: the tag of the object of which the file already has the beginning, if there is one.
    init(
        _ file: URL, from etag: String?, control: TransferControl,
        keep: @escaping @Sendable (_ etag: String?) async -> Void
    ) throws {
        self.file = file
        self.control = control
        self.keep = keep
        partial = file.appendingPathExtension("sluice-part")
        if etag != nil, FileManager.default.fileExists(atPath: partial.path) {
            handle = try FileHandle(forWritingTo: partial)
            let offset = Int64(try handle.seekToEnd())
            state.withLock { $0 = Progress(offset: offset, etag: etag) }
        } else {
            handle = try newFile(partial)
        }
    }

    var progress: Progress { state.withLock { $0 } }

    func begin(_ head: AnswerHead) throws -> Bool {
        guard head.status == 200 || head.status == 206 else { return false }
        try ownSize()
        let before = progress
        let etag = head.field("etag")
        let isRest =
            before.offset > 0 && head.status == 206 && etag == before.etag
            && head.field("content-range")?.hasPrefix("bytes \(before.offset)-") == true
        if before.offset > 0, !isRest {
            try restart()
            if head.status == 206 { throw SluiceError.lost("The object changed.") }
        }
        let isDecoded = ![nil, "identity"].contains(head.field("content-encoding"))
        let length = isDecoded ? nil : head.field("content-length").flatMap { Int64($0) }
        state.withLock {
            $0.etag = etag
            $0.contentType = head.field("content-type")
            $0.isDecoded = isDecoded
            $0.total = length.map { [offset = $0.offset] length in offset + length }
            guard !isRest else { return }
            let earlier = $0.keeping
            $0.keeping = Task { [keep] in
                await earlier?.value
                await keep(isDecoded ? nil : etag)
            }
        }
        return true
    }

    func write(_ bytes: Data) throws {
        try requireOwnBytes()
        try handle.write(contentsOf: bytes)
        let now = state.withLock {
            $0.offset += Int64(bytes.count)
            return $0
        }
        control.note(0, now.offset, of: now.total)
    }

    func restart() throws {
        try ownSize()
        try handle.truncate(atOffset: 0)
        state.withLock { $0.offset = 0 }
    }

    func close() async {
        try? handle.close()
        await state.withLock { $0.keeping }?.value
    }

    /// Gives the file its name, unless another program has written to it as well.
    func putInPlace() throws {
        try requireOwnBytes()
        guard rename(partial.path, file.path) == 0 else {
            throw CocoaError(.fileWriteUnknown, userInfo: [NSFilePathErrorKey: file.path])
        }
    }

    /// Fails if another program has made the file shorter or longer, or has given it its name.
    private func requireOwnBytes() throws {
        guard try ownSize() == progress.offset else { throw changed }
    }

    /// The length of the file in bytes. Another program may have given it its name: then it stays as it is.
    @discardableResult
    private func ownSize() throws -> Int64 {
        var own = stat()
        var there = stat()
        guard fstat(handle.fileDescriptor, &own) == 0, stat(partial.path, &there) == 0, own.st_ino == there.st_ino
        else { throw changed }
        return Int64(own.st_size)
    }

    private var changed: SluiceError {
        SluiceError(.client, .fileChanged, detail: "Another program changed the file during the download.")
    }
}
