public import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Uploads by a background `URLSession`: the system sends the parts while the app is suspended, and after it has ended
/// the app. Make one for the life of the app, at each launch, with the same identifier and directory. Uploads that were
/// under way then go on by themselves.
///
/// ```swift
/// let uploads = BackgroundUploads(client: client, identifier: "org.example.uploads", directory: directory)
/// let id = try await uploads.start(file: video, to: .init(bucket: "videos", keyPrefix: "users/alice/"))
/// for await event in uploads.events { show(event) }
/// ```
///
/// The parts are files in the directory until they have arrived, so an upload needs as much space again as its file
/// has. The app is woken to ask for another link if one has expired before its part was sent.
public actor BackgroundUploads {
    /// What becomes of an upload. `id` is the one that ``start(file:to:)`` answered.
    public enum Event: Sendable {
        /// A part has arrived.
        case progressed(id: String, TransferProgress)
        /// The object is at the store.
        case finished(Sluice.UploadResult)
        /// The upload has stopped. The next launch goes on with it, unless it is cancelled.
        case failed(id: String, any Error)
    }

    /// What becomes of the uploads, for one reader.
    public nonisolated let events: AsyncStream<Event>

    // A part that a store keeps refusing is not sent for ever.
    private static let mostAttempts = 8
    // A day, in seconds. The gateway shortens it to what is allowed.
    private static let longestLife = 86_400

    private let client: Sluice
    private let directory: URL
    private let session: URLSession
    private let delegate: BackgroundDelegate
    private let telling: AsyncStream<Event>.Continuation
    private var uploads: [String: BackgroundUpload] = [:]
    private var attempts: [PartName: Int] = [:]
    private var starting: Set<String> = []

    #if canImport(Darwin)
        /// Makes the session, or finds that of an earlier launch.
        ///
        /// - Parameters:
        ///   - client: asks for links, and completes uploads.
        ///   - identifier: of the background session, unique in the app.
        ///   - directory: for parts and states. The app may not use it for anything else.
        public init(client: Sluice, identifier: String, directory: URL) {
            let configuration = URLSessionConfiguration.background(withIdentifier: identifier)
            configuration.sessionSendsLaunchEvents = true
            self.init(client: client, directory: directory, configuration: configuration)
        }

        /// Takes what `application(_:handleEventsForBackgroundURLSession:completionHandler:)` was given. It is called
        /// on the main thread when all that happened meanwhile has been dealt with.
        public nonisolated func handleEvents(completionHandler: @escaping @Sendable @MainActor () -> Void) {
            delegate.completion.withLock { $0 = completionHandler }
        }
    #endif

    init(client: Sluice, directory: URL, configuration: URLSessionConfiguration) {
        self.client = client
        self.directory = directory
        (events, telling) = AsyncStream.makeStream()
        let (happenings, happening) = AsyncStream.makeStream(of: Happening.self)
        delegate = BackgroundDelegate(happening)
        session = URLSession(configuration: configuration, delegate: delegate, delegateQueue: nil)
        Task {
            await reattach()
            for await happening in happenings { await take(happening) }
        }
    }

    /// Starts an upload. When it returns, the system has all parts, and the file is not needed any more.
    ///
    /// - Returns: The identifier of the upload in parts.
    public func start(file: URL, to target: Sluice.Target) async throws -> String {
        let source = try FileSource(file)
        guard source.size > 0 else { throw SluiceError(.client, .invalidArgument, detail: "The file is empty.") }
        let started = try await client.startParts(target, contentLength: source.size)
        let begun = BegunUpload(started, of: source.size, partSize: client.options.partSize)
        let upload = BackgroundUpload(
            state: begun.state, bucket: started.bucket, size: source.size, count: begun.count(of: source.size))
        starting.insert(begun.id)
        defer { starting.remove(begun.id) }
        do {
            try FileManager.default.createDirectory(at: folder(begun.id), withIntermediateDirectories: true)
            for number in 1...upload.count {
                _ = try await source.digests(
                    of: begun.range(number, of: source.size), md5: false, sha256: false,
                    copy: Copy(
                        url: partFile(PartName(id: begun.id, number: number)), isReadWhileLocked: true))
            }
            guard source.isUnchanged else {
                throw SluiceError(.client, .fileChanged, detail: "The file changed during the upload.")
            }
            // With its state in place, a later launch finds the upload.
            try keep(upload)
        } catch {
            try? FileManager.default.removeItem(at: folder(begun.id))
            await Task { [client] in try? await client.abortParts(begun.id) }.value
            throw error
        }
        await goOn(upload, without: [])
        return begun.id
    }

    /// Ends an upload, and discards its parts at the store.
    public func cancel(_ id: String) async throws {
        uploads[id] = nil
        for task in await tasks() where PartName(task.taskDescription)?.id == id { task.cancel() }
        try? FileManager.default.removeItem(at: folder(id))
        try await client.abortParts(id)
    }

    /// Ends the session as the end of the app does, without a trace.
    func end() {
        uploads = [:]
        delegate.happening.finish()
        session.invalidateAndCancel()
        telling.finish()
    }

    // MARK: - What is under way

    private func reattach() async {
        let running = Set(await tasks().compactMap { PartName($0.taskDescription) })
        let ids = (try? FileManager.default.contentsOfDirectory(atPath: directory.path)) ?? []
        for id in ids where uploads[id] == nil && !starting.contains(id) {
            let state = stateFile(id)
            guard FileManager.default.fileExists(atPath: state.path) else {
                // The app ended before the upload had started.
                try? FileManager.default.removeItem(at: folder(id))
                Task { [client] in try? await client.abortParts(id) }
                continue
            }
            do {
                let upload = try JSONDecoder().decode(BackgroundUpload.self, from: Data(contentsOf: state))
                await goOn(upload, without: running)
            } catch {
                // The bytes are nowhere else, and a later launch may read the state.
                telling.yield(.failed(id: id, error))
            }
        }
    }

    /// Sends the parts that have not arrived and are not under way, or completes the upload.
    private func goOn(_ upload: BackgroundUpload, without running: Set<PartName>) async {
        guard let id = upload.state.uploadID else { return }
        uploads[id] = upload
        let missing = (1...upload.count).map { PartName(id: id, number: $0) }
            .filter { upload.tags[$0.number] == nil && !running.contains($0) }
        do {
            for part in missing { try await send(part) }
            if upload.tags.count == upload.count { try await finish(upload) }
        } catch {
            telling.yield(.failed(id: id, error))
        }
    }

    private func send(_ part: PartName) async throws {
        guard let upload = uploads[part.id] else { return }
        let file = partFile(part)
        let link = try await client.partLink(
            part.id, part.number, Piece(try FileSource(file)), upload.binding, expiresIn: Self.longestLife)
        guard uploads[part.id] != nil else { return }
        let task = try session.uploadTask(
            Sluice.request(link.method, link.url, headers: link.headers), of: file)
        task.taskDescription = part.description
        #if canImport(Darwin)
            let pause = pow(2, Double(attempts[part, default: 0]))
            if pause > 1 { task.earliestBeginDate = Date().addingTimeInterval(pause * Double.random(in: 0.5...1)) }
        #endif
        task.resume()
    }

    private func take(_ happening: Happening) async {
        switch happening {
        case .delivered:
            if let completion = delegate.completion.withLock({ $0.take() }) { await completion() }
        case .ended(let part, let head, let error):
            guard var upload = uploads[part.id] else { return }
            do {
                guard let head, (200..<300).contains(head.status) else {
                    attempts[part, default: 0] += 1
                    guard attempts[part, default: 0] < Self.mostAttempts else {
                        throw error
                            ?? SluiceError(.store, ErrorCode("HTTP\(head?.status ?? 0)"), status: head?.status ?? 0)
                    }
                    // Its link may have expired.
                    return try await send(part)
                }
                upload.state.tags = upload.tags.merging([part.number: head.etag ?? ""]) { $1 }
                uploads[part.id] = upload
                try keep(upload)
                try? FileManager.default.removeItem(at: partFile(part))
                let arrived = upload.tags.keys.reduce(0) { $0 + upload.length($1) }
                telling.yield(.progressed(id: part.id, TransferProgress(loaded: arrived, total: upload.size)))
                if upload.tags.count == upload.count { try await finish(upload) }
            } catch {
                telling.yield(.failed(id: part.id, error))
            }
        }
    }

    private func finish(_ upload: BackgroundUpload) async throws {
        guard let id = upload.state.uploadID else { return }
        let done = try await client.completeParts(id, upload.tags)
        uploads[id] = nil
        try? FileManager.default.removeItem(at: folder(id))
        let found = try await client.confirmed(id, size: upload.size)
        telling.yield(
            .finished(
                Sluice.UploadResult(
                    id: id, bucket: done.bucket, key: done.key, size: upload.size, etag: found?.etag ?? done.etag,
                    state: found?.state, parts: upload.count)))
    }

    private func tasks() async -> [URLSessionTask] {
        await withCheckedContinuation { continuation in
            session.getAllTasks { continuation.resume(returning: $0) }
        }
    }

    private func folder(_ id: String) -> URL { directory.appendingPathComponent(id) }

    private func partFile(_ part: PartName) -> URL { folder(part.id).appendingPathComponent("\(part.number)") }

    private func stateFile(_ id: String) -> URL { folder(id).appendingPathComponent("state") }

    private func keep(_ upload: BackgroundUpload) throws {
        guard let id = upload.state.uploadID else { return }
        var options: Data.WritingOptions = .atomic
        #if canImport(Darwin)
            options.insert(.completeFileProtectionUntilFirstUserAuthentication)
        #endif
        try JSONEncoder().encode(upload).write(to: stateFile(id), options: options)
    }
}

/// An upload as it is kept in its directory.
private struct BackgroundUpload: Codable, Sendable {
    var state: TransferState
    let bucket: String
    let size: Int64
    let count: Int
    /// What the links of this upload bind. A later launch learns it again.
    let binding = Locked(Binding(md5: true, sha256: false))

    private enum CodingKeys: String, CodingKey {
        case state, bucket, size, count
    }

    var tags: [Int: String] { state.tags ?? [:] }

    func length(_ number: Int) -> Int64 {
        let range = BegunUpload(state)?.range(number, of: size) ?? 0..<0
        return range.upperBound - range.lowerBound
    }
}

/// Which part a task sends; in words `ID/NUMBER`.
private struct PartName: Hashable, Sendable, CustomStringConvertible {
    let id: String
    let number: Int

    init(id: String, number: Int) {
        self.id = id
        self.number = number
    }

    init?(_ text: String?) {
        let words = text?.split(separator: "/") ?? []
        guard words.count == 2, let number = Int(words[1]) else { return nil }
        self.init(id: String(words[0]), number: number)
    }

    var description: String { "\(id)/\(number)" }
}

private enum Happening: Sendable {
    case ended(PartName, AnswerHead?, SluiceError?)
    /// The system has told all that happened while the app was not there.
    case delivered
}

/// Passes on what the session tells, in order.
private final class BackgroundDelegate: NSObject, URLSessionTaskDelegate {
    let happening: AsyncStream<Happening>.Continuation
    let completion = Locked<(@Sendable @MainActor () -> Void)?>(nil)

    init(_ happening: AsyncStream<Happening>.Continuation) {
        self.happening = happening
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        guard let part = PartName(task.taskDescription) else { return }
        let lost = error.map { SluiceError.lost("The store did not answer: \($0.localizedDescription)") }
        happening.yield(.ended(part, lost == nil ? AnswerHead(task.response) : nil, lost))
    }

    #if canImport(Darwin)
        func urlSessionDidFinishEvents(forBackgroundURLSession session: URLSession) {
            happening.yield(.delivered)
        }
    #endif
}
