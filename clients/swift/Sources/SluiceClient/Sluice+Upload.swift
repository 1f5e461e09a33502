public import Foundation

private let longestPut: Int64 = 5 << 30

extension Sluice {
    /// Uploads a file. It binds the MD5 and the length where the bucket can, and the SHA-256 where the bucket needs it.
    /// A file that is longer than a part is sent in parts; each asks for its link just before it is sent.
    ///
    /// An upload in parts that was interrupted goes on when the same file is uploaded to the same target: parts that
    /// have arrived are not sent again. A file is the same if its path, its length, its inode and its times of change
    /// are. Ending it with ``Transfer/cancel()`` discards its parts at the store; ``Transfer/pause()`` and failures
    /// keep them. To discard what a paused upload has left, begin it again and cancel it. While an upload is under way,
    /// another one of the same file to the same target begins anew. Nothing is kept of that one.
    ///
    /// - Returns: The upload, which has begun. Its value is there when the store has the object and the gateway has
    ///   compared it with what was bound.
    public func upload(
        file: URL, to target: Target, options: UploadOptions = UploadOptions()
    ) -> Transfer<UploadResult> {
        Transfer { control in
            let source = try FileSource(file)
            let job = UploadJob(source: source, target: target, options: options, control: control)
            // Only a link binds that the object is new.
            if source.size <= options.partSize ?? self.options.partSize || options.createOnly {
                return try await self.uploadWhole(job)
            }
            return try await self.uploadInParts(job)
        }
    }

    private func uploadWhole(_ job: UploadJob) async throws -> UploadResult {
        let size = job.source.size
        guard size <= longestPut else {
            throw SluiceError(.client, .entityTooLarge, detail: "Only uploads in parts may be longer than 5 GiB.")
        }
        let piece = Piece(job.source)
        let request = Locked(LinkRequest(job.target))
        let issued = Locked<[Link]>([])
        let wasLost = Locked(false)
        @Sendable func ask(_ start: Locked<ContinuousClock.Instant>) async throws -> Link {
            let link = try await piece.link(job.binding) { bound in
                var asked = request.withLock { $0 }
                asked.contentMD5 = bound.contentMD5
                asked.checksumSHA256 = bound.checksumSHA256
                asked.contentLength = bound.contentLength
                asked.expiresIn = job.options.expiresIn
                asked.ifNoneMatch = job.options.createOnly ? "*" : nil
                start.withLock { $0 = .now }
                return try await self.link(asked)
            }
            // A name that the gateway has given stays.
            request.withLock {
                $0.key = link.key
                $0.keyPrefix = nil
                $0.keyExtension = nil
            }
            issued.withLock { $0.append(link) }
            return link
        }
        let answer = try await using(ask) { link -> Result<Answer, SluiceError> in
            do {
                return .success(
                    try await self.put(
                        job.source.url, to: link.url, method: link.method, headers: link.headers,
                        onSent: { job.control.note(0, $0, of: size) }))
            } catch let error as SluiceError {
                job.control.note(0, 0, of: size)
                // The object that exists may be the one whose answer was lost.
                if error.meansExists, wasLost.withLock({ $0 }) { return .failure(error) }
                // A conflict is an answer, by which the store has made no object.
                if error.mayPass, error.status != 409 { wasLost.withLock { $0 = true } }
                throw error
            }
        }
        job.control.note(0, size, of: size)
        try job.check()
        let links = issued.withLock { $0 }
        guard let last = links.last else { throw CancellationError() }
        let found =
            switch answer {
            case .success: try await confirmed(last.id, job)
            case .failure(let error): try await landed(links.map(\.id), size: size, otherwise: error)
            }
        return UploadResult(
            id: last.id, bucket: last.bucket, key: last.key, size: size,
            etag: found?.etag ?? (try? answer.get())?.head.etag, state: found?.state, parts: nil)
    }

    private func uploadInParts(_ job: UploadJob) async throws -> UploadResult {
        // The state is that of one upload. Another one under the same name has none.
        let ownName = job.name(at: url)
        let name = namesInUse.withLock { $0.insert(ownName).inserted } ? ownName : nil
        defer {
            if let name { namesInUse.withLock { _ = $0.remove(name) } }
        }
        var begun: BegunUpload?
        if let name, job.options.resume { begun = BegunUpload(await state(name)) }
        do {
            if let kept = begun { begun = try await resumed(kept, name, job) }
            if let begun { return try await finish(begun, name, job) }
            try Task.checkCancellation()
            let upload = try await startParts(job.target, contentLength: job.source.size)
            let new = BegunUpload(upload, of: job.source.size, partSize: job.options.partSize ?? options.partSize)
            begun = new
            await keep(new.state, name)
            return try await finish(new, name, job)
        } catch {
            let isCancelled = Task.isCancelled && !job.control.wasPaused
            if let begun, name == nil || isCancelled || (error as? SluiceError)?.code == .fileChanged {
                await keep(nil, name)
                await giveUp(begun.id)
            }
            throw error
        }
    }

    /// Aborts an upload in parts, also for a task that is cancelled. Without a network, nobody waits long for that: the
    /// gateway aborts after a day what nobody else does.
    func giveUp(_ id: String) async {
        await Task { try? await self.abortParts(id) }.wait(atMost: .seconds(5))
    }

    /// What is left of an upload that was interrupted, with the parts that have arrived.
    private func resumed(_ kept: BegunUpload, _ name: String?, _ job: UploadJob) async throws -> BegunUpload? {
        var begun = kept
        let isAll = begun.tags.count == begun.count(of: job.source.size)
        do {
            let state = try await partsUpload(begun.id).state
            // A completion whose answer was lost is repeated. The object of an older one may be gone by now.
            let isRecent = state == "completed" && begun.beganCompleting(inHourBefore: Date())
            if isAll, state == "completing" || isRecent { return begun }
            if state == "open" {
                begun.completing = nil
                begun.tags = try await found(begun, job.source)
                return begun
            }
        } catch let error as SluiceError where [.noSuchUpload, .conflict].contains(error.code) {
            // An open upload may be unknown to the store. The gateway learns that when it lists the parts: a conflict.
        }
        await keep(nil, name)
        return nil
    }

    /// The entity tags of the parts that the store has and that are those of the file.
    private func found(_ begun: BegunUpload, _ source: FileSource) async throws -> [Int: String] {
        var tags: [Int: String] = [:]
        for part in try await storedParts(begun.id) where part.partNumber <= begun.count(of: source.size) {
            let range = begun.range(part.partNumber, of: source.size)
            guard part.size == range.upperBound - range.lowerBound else { continue }
            // A part whose answer was lost is compared.
            if begun.tags[part.partNumber] != part.etag {
                let digest = try await source.digests(of: range, md5: true, sha256: false).md5
                guard digest?.hexadecimal == part.etag.lowercased() else { continue }
            }
            tags[part.partNumber] = part.etag
        }
        return tags
    }

    private func finish(_ begun: BegunUpload, _ name: String?, _ job: UploadJob) async throws -> UploadResult {
        let size = job.source.size
        let count = begun.count(of: size)
        let memory = PartsMemory(begun) { [self] in await keep($0.state, name) }
        for number in begun.tags.keys {
            let range = begun.range(number, of: size)
            job.control.note(number, range.upperBound - range.lowerBound, of: size)
        }
        let missing = Locked((1...count).filter { begun.tags[$0] == nil }[...])
        try await withTemporaryDirectory { directory in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<max(1, job.options.parallel ?? self.options.parallel) {
                    group.addTask {
                        while let number = missing.withLock({ $0.popFirst() }) {
                            try Task.checkCancellation()
                            let tag = try await self.sendPart(number, of: begun, directory, job)
                            await memory.note(number, tag)
                        }
                    }
                }
                // The first failure ends the others.
                for try await _ in group {}
            }
        }
        try job.check()
        var whole = await memory.begun
        if whole.tags.count < count {
            // A store that tells no tags tells them to the gateway.
            for part in try await storedParts(begun.id) where whole.tags[part.partNumber] == nil {
                whole.tags[part.partNumber] = part.etag
            }
        }
        whole.completing = whole.completing ?? Date()
        await keep(whole.state, name)
        let done = try await completeParts(begun.id, whole.tags)
        await keep(nil, name)
        let found = try await confirmed(begun.id, job)
        return UploadResult(
            id: begun.id, bucket: done.bucket, key: done.key, size: size, etag: found?.etag ?? done.etag,
            state: found?.state, parts: count)
    }

    /// Sends a part from a file of its own, so that what is sent is what was digested. Returns its entity tag.
    private func sendPart(
        _ number: Int, of begun: BegunUpload, _ directory: URL, _ job: UploadJob
    ) async throws -> String? {
        let size = job.source.size
        let file = directory.appendingPathComponent("\(number)")
        defer { try? FileManager.default.removeItem(at: file) }
        let binding = job.binding.withLock { $0 }
        let digests = try await job.source.digests(
            of: begun.range(number, of: size), md5: binding.md5, sha256: binding.bindsSHA256, copy: Copy(url: file))
        let piece = Piece(try FileSource(file), known: digests)
        let answer = try await using({ start in
            try await self.partLink(begun.id, number, piece, job.binding, start)
        }) { link in
            do {
                return try await self.put(
                    file, to: link.url, method: link.method, headers: link.headers,
                    onSent: { job.control.note(number, $0, of: size) })
            } catch {
                job.control.note(number, 0, of: size)
                throw error
            }
        }
        job.control.note(number, piece.source.size, of: size)
        return answer.head.etag
    }

    /// Asks for the link of a part that binds what the bucket can, and what is required.
    ///
    /// - Parameter start: Receives the time at which the request is sent; the life of the link may begin then.
    func partLink(
        _ id: String, _ number: Int, _ piece: Piece, _ binding: Locked<Binding>,
        _ start: Locked<ContinuousClock.Instant>, expiresIn: Int? = nil
    ) async throws -> Link {
        try await piece.link(binding) { bound in
            var part = PartRequest(partNumber: number)
            part.contentMD5 = bound.contentMD5
            part.checksumSHA256 = bound.checksumSHA256
            part.contentLength = bound.contentLength
            start.withLock { $0 = .now }
            return try await self.partLink(id, part, expiresIn: expiresIn)
        }
    }

    private func confirmed(_ id: String, _ job: UploadJob) async throws -> Upload? {
        guard job.options.confirm else { return nil }
        return try await confirmed(id, size: job.source.size)
    }

    /// What the gateway finds, which has to be what was sent. Nil if that stays unknown: the store has the bytes even
    /// if the gateway may not ask it, or if nobody waits for its answer.
    func confirmed(_ id: String, size: Int64) async throws -> Upload? {
        guard let found = try? await confirm(id) else { return nil }
        guard [.landed, .unverified].contains(found.state), found.size ?? size == size else {
            let what = (found.mismatches ?? []).joined(separator: ", ")
            throw SluiceError(
                .client, .mismatch, detail: "The object at the store is not what was sent: \(found.state) \(what)")
        }
        return found
    }

    /// The object that one of the links has made. Otherwise it is another one, and the store's refusal counts.
    private func landed(_ ids: [String], size: Int64, otherwise refusal: SluiceError) async throws -> Upload {
        for id in ids {
            let found = try await confirm(id)
            if found.state == .landed, found.size == size { return found }
        }
        throw refusal
    }
}

/// What one call uploads.
private struct UploadJob: Sendable {
    let source: FileSource
    let target: Sluice.Target
    let options: Sluice.UploadOptions
    let control: TransferControl
    let binding: Locked<Binding>

    init(source: FileSource, target: Sluice.Target, options: Sluice.UploadOptions, control: TransferControl) {
        self.source = source
        self.target = target
        self.options = options
        self.control = control
        binding = Locked(Binding(md5: options.md5, sha256: options.sha256))
    }

    /// The name of the state.
    func name(at gateway: URL) -> String {
        let target = (try? Coding.encode(target)).map { String(decoding: $0, as: UTF8.self) } ?? ""
        let file = "\(source.size) \(source.version) \(source.url.place)"
        return fingerprint("put \(gateway.absoluteString)\n\(target)\n\(file)")
    }

    func check() throws {
        guard source.isUnchanged else {
            throw SluiceError(.client, .fileChanged, detail: "The file changed during the upload.")
        }
    }
}
