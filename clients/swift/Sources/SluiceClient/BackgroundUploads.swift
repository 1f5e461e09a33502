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
        /// The upload has stopped. ``BackgroundUploads/resume(_:)`` goes on with it, and so does the next launch,
        /// unless it is cancelled.
        case failed(id: String, any Error)
    }

    /// What becomes of the uploads, for one reader.
    public nonisolated let events: AsyncStream<Event>

    // A part that a store keeps refusing is not sent for ever.
    private static let mostAttempts = 8
    // Nor is one whose links keep ending before the store answers.
    private static let mostExpiries = 32
    // A day, in seconds. The gateway shortens it to what is allowed.
    private static let longestLife = 86_400

    nonisolated let delegate: BackgroundDelegate
    private let client: Sluice
    private let directory: URL
    private let session: URLSession
    private let patience: Duration
    private let telling: AsyncStream<Event>.Continuation
    private var uploads: [String: BackgroundUpload] = [:]
    /// The newest work for each upload, which begins when the work before it has ended.
    private var working: [String: Task<Void, Never>] = [:]
    /// The parts that this launch has sent, or has found under way, and that have not arrived.
    private var parts: [PartName: PartSending] = [:]
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
        /// on the main thread when all that happened meanwhile has been dealt with, or after 20 seconds. What still
        /// waits then, such as a part for its quota, goes on when the app runs again.
        public nonisolated func handleEvents(completionHandler: @escaping @Sendable @MainActor () -> Void) {
            delegate.completion.withLock { $0 = completionHandler }
        }
    #endif

    /// - Parameter patience: how long the system waits for work under way. It gives an app some 30 seconds.
    init(
        client: Sluice, directory: URL, configuration: URLSessionConfiguration, patience: Duration = .seconds(20)
    ) {
        self.client = client
        self.directory = directory
        self.patience = patience
        (events, telling) = AsyncStream.makeStream()
        let (happenings, happening) = AsyncStream.makeStream(of: Happening.self)
        delegate = BackgroundDelegate(happening)
        session = URLSession(configuration: configuration, delegate: delegate, delegateQueue: nil)
        Task {
            await reattach()
            for await happening in happenings { await take(happening) }
        }
    }

    /// Starts an upload. When it returns, the file has been copied, and the system has all parts, unless the link of
    /// one was refused: ``events`` then tells that the upload has stopped, and ``resume(_:)`` goes on with it. Keep the
    /// file until the upload has finished: the gateway ends one that takes longer than a day, unless it is set
    /// otherwise, and then it has to be started anew.
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
            await client.giveUp(begun.id)
            throw error
        }
        let sending = goOn(upload, begun.id)
        await withTaskCancellationHandler {
            await sending.value
        } onCancel: {
            sending.cancel()
        }
        return begun.id
    }

    /// Goes on with an upload that has stopped: asks again for the links that were refused, and completes it once its
    /// parts have arrived. Parts that are under way are not sent again. Does nothing if this launch does not know the
    /// upload, such as one that has finished.
    public func resume(_ id: String) async {
        guard let upload = uploads[id] else { return }
        for part in parts.keys where part.id == id {
            parts[part]?.attempts = 0
            parts[part]?.expiries = 0
        }
        goOn(upload, id)
    }

    /// Ends an upload, and discards its parts at the store.
    public func cancel(_ id: String) async throws {
        uploads[id] = nil
        parts = parts.filter { $0.key.id != id }
        working.removeValue(forKey: id)?.cancel()
        for task in await tasks() where PartName(task.taskDescription)?.id == id { task.cancel() }
        try? FileManager.default.removeItem(at: folder(id))
        try await client.abortParts(id)
    }

    /// Ends the session as the end of the app does, without a trace.
    func end() {
        uploads = [:]
        for task in working.values { task.cancel() }
        working = [:]
        delegate.happening.finish()
        session.invalidateAndCancel()
        telling.finish()
    }

    // MARK: - What is under way

    private func reattach() async {
        for task in await tasks() {
            guard let part = PartName(task.taskDescription) else { continue }
            parts[part, default: PartSending()].task = task.taskIdentifier
        }
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
                goOn(upload, id)
            } catch {
                // The bytes are nowhere else, and a later launch may read the state.
                telling.yield(.failed(id: id, error))
            }
        }
    }

    /// Works for an upload until it is cancelled. The reader of what happens does not wait for this.
    @discardableResult
    private func work(for id: String, _ body: @escaping @Sendable () async throws -> Void) -> Task<Void, Never> {
        let before = working[id]
        let task = Task {
            await withTaskCancellationHandler {
                await before?.value
            } onCancel: {
                before?.cancel()
            }
            do {
                try await body()
            } catch {
                // Nothing is told of an upload that was cancelled.
                if uploads[id] != nil || !Task.isCancelled { telling.yield(.failed(id: id, error)) }
            }
        }
        working[id] = task
        return task
    }

    /// Sends the parts that have not arrived and are not under way, or completes the upload.
    @discardableResult
    private func goOn(_ upload: BackgroundUpload, _ id: String) -> Task<Void, Never> {
        uploads[id] = upload
        return work(for: id) {
            for number in 1...upload.count { try await self.send(PartName(id: id, number: number)) }
            try await self.finish(id)
        }
    }

    /// The upload of a part that has not arrived.
    private func upload(of part: PartName) -> BackgroundUpload? {
        uploads[part.id].flatMap { $0.tags[part.number] == nil ? $0 : nil }
    }

    /// Sends a part, unless it has arrived or is under way.
    private func send(_ part: PartName) async throws {
        guard let upload = upload(of: part), parts[part]?.task == nil else { return }
        let file = partFile(part)
        let start = Locked(ContinuousClock.now)
        let link: Sluice.Link
        do {
            link = try await client.partLink(
                part.id, part.number, Piece(try FileSource(file)), upload.binding, start, expiresIn: Self.longestLife)
        } catch {
            // Its file is gone if it has arrived meanwhile.
            guard self.upload(of: part) != nil else { return }
            throw error
        }
        guard self.upload(of: part) != nil else { return }
        let task = try session.uploadTask(
            Sluice.request(link.method, link.url, headers: link.headers), of: file)
        task.taskDescription = part.description
        var sending = parts[part, default: PartSending()]
        sending.task = task.taskIdentifier
        sending.linkEnd = start.withLock { $0 } + .seconds(link.expiresIn)
        parts[part] = sending
        #if canImport(Darwin)
            let pause = pow(2, Double(min(sending.attempts + sending.expiries, 8)))
            if pause > 1 { task.earliestBeginDate = Date().addingTimeInterval(pause * Double.random(in: 0.5...1)) }
        #endif
        task.resume()
    }

    private func take(_ happening: Happening) {
        switch happening {
        case .delivered:
            if let completion = delegate.completion.withLock({ $0.take() }) { deliver(completion) }
        case .ended(let part, let task, let head, let error):
            guard var upload = upload(of: part) else { return }
            // Another task may have the part since, if the end of this one was told late.
            let other = parts[part]?.task.flatMap { $0 == task ? nil : $0 }
            do {
                guard let head, (200..<300).contains(head.status) else {
                    if other == nil { try sendAgain(part, head?.status, error) }
                    return
                }
                parts[part] = nil
                if let other { Task { await tasks().first { $0.taskIdentifier == other }?.cancel() } }
                upload.state.tags = upload.tags.merging([part.number: head.etag ?? ""]) { $1 }
                uploads[part.id] = upload
                try keep(upload)
                try? FileManager.default.removeItem(at: partFile(part))
                let arrived = upload.tags.keys.reduce(0) { $0 + upload.length($1) }
                telling.yield(.progressed(id: part.id, TransferProgress(loaded: arrived, total: upload.size)))
                if upload.isWhole { work(for: part.id) { try await self.finish(part.id) } }
            } catch {
                telling.yield(.failed(id: part.id, error))
            }
        }
    }

    /// Sends a part that was refused or lost by another task, unless that has happened too often.
    private func sendAgain(_ part: PartName, _ status: Int?, _ error: SluiceError?) throws {
        var sending = parts[part, default: PartSending()]
        sending.fail(status, at: .now)
        parts[part] = sending
        guard sending.attempts < Self.mostAttempts, sending.expiries < Self.mostExpiries else {
            throw error ?? SluiceError(.store, ErrorCode("HTTP\(status ?? 0)"), status: status ?? 0)
        }
        work(for: part.id) { try await self.send(part) }
    }

    /// Tells the system that it may suspend the app, once what is under way has ended or has taken too long.
    private func deliver(_ completion: @escaping @Sendable @MainActor () -> Void) {
        let underWay = Task { [working] in
            for task in working.values { await task.value }
        }
        Task { [patience] in
            await underWay.wait(atMost: patience)
            await completion()
        }
    }

    /// Completes the upload if all of its parts have arrived.
    private func finish(_ id: String) async throws {
        guard let upload = uploads[id], upload.isWhole else { return }
        var tags = upload.tags
        if tags.values.contains("") {
            // A store that tells no tags tells them to the gateway.
            for part in try await client.storedParts(id) where tags[part.partNumber] == "" {
                tags[part.partNumber] = part.etag
            }
        }
        let done = try await client.completeParts(id, tags)
        uploads[id] = nil
        defer { working[id] = nil }
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
