import FoundationEssentials
import LibCrypto
import LocalFiles

extension ObjectUpload {
    /// The parts of a file.
    struct Partition: Sendable {
        let size: Int64
        let partSize: Int64

        var count: Int { Int(max(1, (size + partSize - 1) / partSize)) }

        /// The bytes of a part; numbers begin with 1.
        func range(_ number: Int) -> Range<Int64> {
            let start = Int64(number - 1) * partSize
            return start..<min(size, start + partSize)
        }

        /// Parts of about this length, but not more parts than stores accept.
        init(of size: Int64, partSize: Int64) {
            self.size = size
            let least = (size + ObjectUpload.maxParts - 1) / ObjectUpload.maxParts
            // Whole mebibytes, so that the parts of two runs agree.
            self.partSize = max(partSize, ((least + (1 << 20) - 1) >> 20) << 20)
        }
    }

    /// What became of an upload in parts that was to be given up.
    public enum GivenUp: Sendable {
        /// It has ended, and its parts are removed.
        case aborted
        /// It turned out to be completed, so the object stays.
        case completed
        /// There was none.
        case nothing
    }

    /// Ends an upload in parts that was interrupted, also if the file or the options have changed since.
    ///
    /// - Parameters:
    ///   - file: Name of the file, which need not exist any more.
    ///   - address: Where the object was to be.
    public func abort(_ file: String, to address: ObjectAddress) async throws(ClientFailure) -> GivenUp {
        let name = name(FileName.located(file), address)
        guard let begun = memory.read(name, as: BegunUpload.self) else { return .nothing }
        var end = GivenUp.aborted
        do throws(ClientFailure) { try await client.abort(begun.id) } catch {
            switch error.gatewayCode {
            case "NoSuchUpload": break
            case "Conflict":
                // An upload that is being completed may still fail, and another run may go on with it.
                guard try await client.upload(begun.id).state == "completed" else { throw error }
                end = .completed
            default: throw error
            }
        }
        memory.forget(name)
        return end
    }

    /// Ends an upload in parts that this one takes the place of: one of another content, or any if none is to be taken
    /// up or the file now goes up by one link. If the gateway cannot be asked to end it, it does so when the upload
    /// expires.
    func endReplaced(_ file: LocalFile, _ address: ObjectAddress) async {
        let name = name(file.place, address)
        guard let begun = memory.read(name, as: BegunUpload.self),
            !options.resumes || isWhole(file) || begun.content != content(file)
        else { return }
        try? await client.abort(begun.id)
        memory.forget(name)
    }

    func sendParts(of file: LocalFile, to address: ObjectAddress) async throws(ClientFailure) -> Outcome {
        let name = name(file.place, address)
        var begun = memory.read(name, as: BegunUpload.self)
        do throws(ClientFailure) {
            if let kept = begun { begun = try await resumed(kept, file, name) }
            let upload = if let begun { begun } else { try await start(file, address, name) }
            begun = upload
            return try await finish(upload, file, address, name)
        } catch {
            guard let begun else { throw error }
            switch error {
            case .stopped:
                guard let kept = memory.read(name, as: BegunUpload.self), kept.id == begun.id else {
                    throw .stopped(
                        "Interrupted. The same command cannot go on, because '\(memory.directory)' cannot be written. "
                            + "The gateway removes the parts that have arrived when the upload expires. "
                            + "'DELETE /v1/multipart-uploads/\(begun.id)' with your key, or "
                            + "'sluice admin multipart-uploads delete \(begun.id)' with an admin's, does so at once.")
                }
                let count = Partition(of: file.size, partSize: begun.partSize).count
                throw .stopped(
                    "Interrupted. \(kept.tags.count) of \(count) parts have arrived. "
                        + "Run the same command again to go on, or with --abort to give up.")
            case .file where !file.isReplaced: throw error
            case .file, .different:
                // The parts that arrived belong to another content. If the gateway cannot be asked to remove them, it
                // does so when the upload expires.
                try? await client.abort(begun.id)
                memory.forget(name)
                throw error
            default: throw error
            }
        }
    }

    private func name(_ path: String, _ address: ObjectAddress) -> String {
        TransferMemory.name("put", client.origin, address.bucket, address.key, path)
    }

    private func content(_ file: LocalFile) -> String {
        let metadata = options.metadata.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
        return TransferMemory.name(
            "\(file.size)", file.version, options.contentType, metadata.joined(separator: "\n"))
    }

    /// What is left of an upload that was interrupted, with the parts that the store has; `nil` if another one has to
    /// take its place.
    private func resumed(
        _ kept: BegunUpload, _ file: LocalFile, _ name: String
    ) async throws(ClientFailure) -> BegunUpload? {
        var begun = kept
        let parts = Partition(of: file.size, partSize: begun.partSize)
        do throws(ClientFailure) {
            let state = try await client.upload(begun.id).state
            // A completion whose answer was lost is repeated. The object of an older one may be gone by now.
            let isRecent = state == "completed" && begun.beganCompleting(inHourBefore: .now)
            if begun.tags.count == parts.count, state == "completing" || isRecent {
                transfer.meter.found(file.size)
                return begun
            }
            if state == "open" {
                begun.completing = nil
                begun.tags = try await found(begun, parts, file)
                memory.keep(name, begun)
                return begun
            }
        } catch {
            // An open upload may be unknown to the store. The gateway learns that when it lists the parts: a conflict.
            guard ["NoSuchUpload", "Conflict"].contains(error.gatewayCode) else { throw error }
        }
        memory.forget(name)
        return nil
    }

    private func start(
        _ file: LocalFile, _ address: ObjectAddress, _ name: String
    ) async throws(ClientFailure) -> BegunUpload {
        let parts = Partition(of: file.size, partSize: options.partSize)
        let upload = try await client.start(
            MultipartRequest(
                bucket: address.bucket, key: address.key, contentType: options.contentType, contentLength: file.size,
                metadata: options.metadata.isEmpty ? nil : options.metadata))
        let begun = BegunUpload(id: upload.id, content: content(file), partSize: parts.partSize, tags: [:])
        memory.keep(name, begun)
        return begun
    }

    private func finish(
        _ begun: BegunUpload, _ file: LocalFile, _ address: ObjectAddress, _ name: String
    ) async throws(ClientFailure) -> Outcome {
        var begun = begun
        let parts = Partition(of: file.size, partSize: begun.partSize)
        let round = PartRound(self, file, parts, begun, name)
        let missing = (1...parts.count).filter { begun.tags[$0] == nil }
        // Links are asked for just before they are used, so that they do not expire in a queue.
        let step = options.parallel * 4
        for start in stride(from: 0, to: missing.count, by: step) {
            begun.tags = try await round.send(Array(missing[start..<min(start + step, missing.count)]))
        }
        try file.checkUnchanged()
        begun.completing = begun.completing ?? .now
        memory.keep(name, begun)
        let done = try await client.complete(
            begun.id,
            (1...parts.count).map { number in
                StoredPart(partNumber: number, etag: begun.tags[number] ?? "", size: Int64(parts.range(number).count))
            })
        memory.forget(name)
        let state = try await confirmed(begun.id, size: file.size)
        return Outcome(
            address: address, size: file.size, etag: state?.etag ?? done.etag, id: begun.id, state: state?.state,
            parts: parts.count)
    }

    /// Asks which parts the store has. Only those count whose length fits, and whose entity tag is the one that the
    /// store answered or the MD5 of the bytes.
    private func found(
        _ begun: BegunUpload, _ parts: Partition, _ file: LocalFile
    ) async throws(ClientFailure) -> [Int: String] {
        let stored = try await client.storedParts(of: begun.id)
        var tags: [Int: String] = [:]
        for part in stored where 1...parts.count ~= part.partNumber {
            let range = parts.range(part.partNumber)
            guard part.size == Int64(range.count) else { continue }
            var isSame = begun.tags[part.partNumber] == part.etag
            if !isSame { isSame = try await file.digests(of: range, stop: stop).md5.hex == part.etag.lowercased() }
            guard isSame else { continue }
            tags[part.partNumber] = part.etag
            transfer.meter.found(part.size)
        }
        return tags
    }
}

/// Sends parts of one upload.
private actor PartRound {
    private let upload: ObjectUpload
    private let file: LocalFile
    private let parts: ObjectUpload.Partition
    private let name: String
    private var begun: BegunUpload
    private var needsSHA256 = false

    init(
        _ upload: ObjectUpload, _ file: LocalFile, _ parts: ObjectUpload.Partition, _ begun: BegunUpload, _ name: String
    ) {
        self.upload = upload
        self.file = file
        self.parts = parts
        self.begun = begun
        self.name = name
    }

    private typealias Sent = Result<(number: Int, tag: String), ClientFailure>

    /// Sends some parts, several at once. What has arrived is kept at once.
    ///
    /// - Returns: The entity tags of all parts that have arrived so far.
    func send(_ numbers: [Int]) async throws(ClientFailure) -> [Int: String] {
        let requests = try await digested(numbers)
        let links = try await links(requests)
        let limit = upload.options.parallel
        let failure = await withTaskGroup(of: Sent.self, returning: ClientFailure?.self) { group in
            var failure: ClientFailure?
            var waiting = Array(zip(requests, links))[...]
            for (request, link) in waiting.prefix(limit) { group.addTask { await self.send(request, link) } }
            waiting = waiting.dropFirst(limit)
            while let sent = await group.next() {
                switch sent {
                case .success(let (number, tag)): keep(number, tag)
                case .failure(let reason): failure = failure ?? reason
                }
                guard failure == nil, let (request, link) = waiting.popFirst() else { continue }
                group.addTask { await self.send(request, link) }
            }
            return failure
        }
        if let failure { throw failure }
        return begun.tags
    }

    private func keep(_ number: Int, _ tag: String) {
        begun.tags[number] = tag
        upload.memory.keep(name, begun)
    }

    private struct Digested: Sendable {
        let number: Int
        let digests: ContentDigests
    }

    private func digested(_ numbers: [Int]) async throws(ClientFailure) -> [Digested] {
        var all: [Digested] = []
        for number in numbers {
            all.append(
                Digested(
                    number: number, digests: try await file.digests(of: parts.range(number), stop: upload.stop)))
        }
        return all
    }

    /// Asks for links, with the SHA-256 of each part if the bucket requires it.
    private func links(_ requests: [Digested]) async throws(ClientFailure) -> [RenewableLink] {
        let asked = ContinuousClock.now
        let links: [Link]
        do throws(ClientFailure) { links = try await ask(requests) } catch {
            guard error.asksForSHA256, !needsSHA256 else { throw error }
            needsSHA256 = true
            return try await self.links(requests)
        }
        return links.map { RenewableLink($0, now: asked) }
    }

    private func ask(_ requests: [Digested]) async throws(ClientFailure) -> [Link] {
        let wishes = requests.map { request in
            PartRequest(
                partNumber: request.number, contentMD5: request.digests.md5.base64,
                checksumSHA256: needsSHA256 ? request.digests.sha256.base64 : nil,
                contentLength: Int64(parts.range(request.number).count))
        }
        return try await upload.client.links(wishes, of: begun.id)
    }

    private nonisolated func send(_ request: Digested, _ link: RenewableLink) async -> Sent {
        do throws(ClientFailure) {
            let tag = try await upload.client.retries.use(link) { () async throws(ClientFailure) -> Link in
                guard let fresh = try await self.ask([request]).first else {
                    throw .unreachable("The gateway's answer has no link.")
                }
                return fresh
            } _: { (link) async throws(ClientFailure) -> String? in
                try await upload.transfer.put(link, file, parts.range(request.number))
            }
            guard let tag else { throw ClientFailure.unreachable("The store's answer has no ETag.") }
            return .success((request.number, tag))
        } catch {
            return .failure(error)
        }
    }
}
