import Foundation
import SluiceClient
import Testing

extension RunningTests {
    @Test("a small file arrives by one link, bound to its MD5, and is confirmed")
    func small() async throws {
        try await withDirectory { directory in
            let client = world.client()
            let file = try directory.file("small", bytes(100_000))
            let upload = client.upload(
                file: file,
                to: .init(
                    bucket: world.bucket, key: "\(world.folder)small ü+.png", contentType: "image/png",
                    metadata: ["camera": "x100"]))
            var last: TransferProgress?
            for await progress in upload.progress { last = progress }
            let done = try await upload.value
            #expect(done.state == .landed)
            #expect(done.size == 100_000)
            #expect(done.etag?.count == 32)
            #expect(last == TransferProgress(loaded: 100_000, total: 100_000))
            let stored = try await content(done.bucket, done.key)
            expectSame(stored, bytes(100_000))
            let found = try await client.confirm(done.id)
            #expect(found.contentType == "image/png")
            // The store refuses bytes of another MD5.
            try await plan(world.store, Fault(kind: "spoil", method: "PUT"))
            let error = await refusal {
                try await client.upload(file: file, to: .init(bucket: done.bucket, key: done.key)).value
            }
            #expect(error?.source == .store)
            #expect(error?.code == .unknown("BadDigest"))
            try await expectAllHappened(world.store)
        }
    }

    @Test("an empty file arrives under a name that the gateway gives")
    func empty() async throws {
        try await withDirectory { directory in
            var options = Sluice.UploadOptions()
            options.md5 = false
            let done = try await world.client().upload(
                file: directory.file("empty", Data()),
                to: .init(bucket: world.bucket, keyPrefix: world.folder, keyExtension: "bin"), options: options
            ).value
            #expect(done.state == .landed)
            #expect(done.size == 0)
            #expect(done.key.hasSuffix(".bin"))
        }
    }

    @Test("a link that the store refuses is renewed once")
    func expired() async throws {
        try await withDirectory { directory in
            let file = try directory.file("expired", bytes(5_000))
            let target = Sluice.Target(bucket: world.bucket, key: "\(world.folder)expired")
            try await plan(world.store, .expired)
            let done = try await world.client().upload(file: file, to: target).value
            #expect(done.state == .landed)
            try await expectAllHappened(world.store)
            try await plan(world.store, .expired, .expired, .expired)
            let error = await refusal { try await world.client().upload(file: file, to: target).value }
            #expect(error?.source == .store)
            #expect(error?.status == 403)
            #expect(error?.detail == "Request has expired")
            let left = try await plan(world.store)
            #expect(left.count == 1, "the third attempt was not made")
        }
    }

    @Test("a link that lives for some seconds is used")
    func shortLife() async throws {
        var options = Sluice.UploadOptions()
        options.expiresIn = 5
        let second = Fault(kind: "answer", method: "POST", path: "/v1/presigned-urls", skip: 1, status: 403)
        try await plan(world.gateway, second)
        let target = Sluice.Target(bucket: world.bucket, key: "\(world.folder)short life")
        let done = try await world.client().upload(file: world.file("one.bin"), to: target, options: options).value
        #expect(done.state == .landed)
        let left = try await plan(world.gateway)
        #expect(left == ["answer"], "no second link was asked for")
    }

    @Test("MD5 and SHA-256 are sent where grant and bucket need them")
    func needs() async throws {
        try await withDirectory { directory in
            let file = try directory.file("needs", bytes(70_000))
            var options = Sluice.UploadOptions()
            options.md5 = false
            let key = world.folder.replacingOccurrences(of: "files/", with: "md5/") + "a.png"
            let checked = try await world.client().upload(
                file: file, to: .init(bucket: world.bucket, key: key, contentType: "image/png"), options: options
            ).value
            #expect(checked.state == .landed)
            // A bucket whose links need the SHA-256.
            let hashed = try await world.client().upload(
                file: file, to: .init(bucket: world.strictBucket, key: "\(world.folder)a.png")
            ).value
            #expect([.landed, .unverified].contains(hashed.state))
            options.partSize = 5 << 20
            let parts = try await world.client().upload(
                file: world.file("six.bin"), to: .init(bucket: world.strictBucket, key: "\(world.folder)b.png"),
                options: options
            ).value
            #expect([.landed, .unverified].contains(parts.state))
            #expect(parts.parts == 2)
            let stored = try await content(parts.bucket, parts.key)
            try expectSame(stored, Data(contentsOf: world.file("six.bin")))
        }
    }

    @Test("an object that exists is kept, and an upload whose answer was lost is recognised")
    func existing() async throws {
        try await withDirectory { directory in
            let target = Sluice.Target(bucket: world.bucket, key: "\(world.folder)once")
            var options = Sluice.UploadOptions()
            options.createOnly = true
            try await plan(world.store, Fault(kind: "lose", method: "PUT"))
            let done = try await world.client().upload(
                file: directory.file("first", bytes(3_000)), to: target, options: options
            ).value
            #expect(done.state == .landed)
            try await expectAllHappened(world.store)
            // A proxy before the store did not wait for its answer.
            try await plan(world.store, Fault(kind: "hide", method: "PUT", status: 504))
            let other = try await world.client().upload(
                file: directory.file("hidden", bytes(3_000)),
                to: .init(bucket: world.bucket, key: "\(world.folder)once more"), options: options
            ).value
            #expect(other.state == .landed)
            try await expectAllHappened(world.store)
            // S3 answers so while another request for the key is under way.
            try await plan(
                world.store,
                Fault(
                    kind: "answer", method: "PUT", status: 409,
                    body: "<Error><Code>ConditionalRequestConflict</Code></Error>"))
            let third = try await world.client().upload(
                file: directory.file("third", bytes(3_000)),
                to: .init(bucket: world.bucket, key: "\(world.folder)once again"), options: options
            ).value
            #expect(third.state == .landed)
            try await expectAllHappened(world.store)
            let error = await refusal {
                try await world.client().upload(
                    file: directory.file("second", bytes(3_000, seed: 9)), to: target, options: options
                ).value
            }
            #expect(error?.status == 412)
            let stored = try await content(target.bucket, world.folder + "once")
            expectSame(stored, bytes(3_000))
        }
    }

    @Test("a part whose link a quota forbids waits until the quota opens, for a minute at most")
    func refusedParts() async throws {
        var options = Sluice.UploadOptions()
        options.partSize = 5 << 20
        func upload(_ name: String) async throws -> Sluice.UploadResult {
            let target = Sluice.Target(bucket: world.bucket, key: world.folder + name)
            return try await world.client().upload(file: world.file("six.bin"), to: target, options: options).value
        }
        try await plan(world.gateway, .usedUp(resetsIn: 2), .usedUp(resetsIn: 1))
        let start = ContinuousClock.now
        let done = try await upload("waiting")
        #expect(done.state == .landed)
        #expect(ContinuousClock.now - start >= .seconds(2))
        try await expectAllHappened(world.gateway)
        for seconds in [3600, nil] {
            try await plan(world.gateway, .usedUp(resetsIn: seconds))
            let error = await refusal { try await upload("refused") }
            #expect(error?.code == .quotaExceeded)
            #expect(error?.quota?.resetsIn == seconds)
            #expect(error?.mayPass == false)
            try await expectAllHappened(world.gateway)
        }
    }

    @Test("a store that does not answer in time is asked again")
    func slow() async throws {
        try await withDirectory { directory in
            try await plan(world.store, Fault(kind: "delay", method: "PUT", seconds: 20))
            let start = ContinuousClock.now
            let done = try await world.client { $0.timeout = .seconds(2) }.upload(
                file: directory.file("slow", bytes(3_000)), to: .init(bucket: world.bucket, key: "\(world.folder)slow")
            ).value
            #expect(done.state == .landed)
            #expect(ContinuousClock.now - start < .seconds(15))
            try await expectAllHappened(world.store)
        }
    }

    @Test("cancelling an upload aborts it at the store")
    func cancelled() async throws {
        let states = MemoryStateStore()
        let kept = RecordingStore(states)
        let client = world.client(states: kept) { $0.partSize = 5 << 20 }
        let target = Sluice.Target(bucket: world.bucket, key: "\(world.folder)cancelled")
        try await plan(world.store, Fault(kind: "delay", method: "PUT", skip: 1, seconds: 3))
        let upload = client.upload(file: world.file("six.bin"), to: target)
        // Cancelling the task that waits for the value cancels the upload.
        let waiting = Task { try await upload.value }
        for await progress in upload.progress where progress.loaded >= 5 << 20 { waiting.cancel() }
        await #expect(throws: CancellationError.self) { try await waiting.value }
        let id = try #require(kept.ids.first)
        let found = try await client.partsUpload(id)
        #expect(found.state == "aborted")
        #expect(kept.last == nil, "the state is forgotten")
        try await plan(world.store)
        let left = try FileManager.default.contentsOfDirectory(atPath: world.file("temporary").path)
        #expect(left == [], "files of parts are removed")
    }

    @Test("cancelling an upload ends it within seconds, although the gateway does not answer")
    func cancelledInVain() async throws {
        let client = world.client { $0.partSize = 5 << 20 }
        let target = Sluice.Target(bucket: world.bucket, key: "\(world.folder)cancelled in vain")
        try await plan(world.store, Fault(kind: "delay", method: "PUT", seconds: 3))
        try await plan(world.gateway, Fault(kind: "delay", method: "DELETE", seconds: 30))
        let upload = client.upload(file: world.file("six.bin"), to: target)
        while try await !left(world.store).isEmpty {}
        let start = ContinuousClock.now
        upload.cancel()
        await #expect(throws: CancellationError.self) { try await upload.value }
        #expect(ContinuousClock.now - start < .seconds(15))
        try await expectAllHappened(world.gateway)
    }

    @Test("a paused upload goes on, and one that is gone begins anew")
    func paused() async throws {
        let store = RecordingStore(MemoryStateStore())
        let client = world.client(states: store)
        var options = Sluice.UploadOptions()
        options.partSize = 5 << 20
        options.parallel = 1
        let file = world.file("six.bin")
        func paused(_ target: Sluice.Target) async {
            let upload = client.upload(file: file, to: target, options: options)
            // The first part has arrived when the second begins.
            for await progress in upload.progress where progress.loaded > 5 << 20 { upload.pause() }
            await #expect(throws: CancellationError.self) { try await upload.value }
        }
        let target = Sluice.Target(bucket: world.bucket, key: "\(world.folder)paused")
        try await plan(world.store, Fault(kind: "delay", method: "PUT", skip: 1, seconds: 1))
        await paused(target)
        #expect(store.last != nil)
        let again = client.upload(file: file, to: target, options: options)
        var first: Int64?
        for await progress in again.progress { first = first ?? progress.loaded }
        let done = try await again.value
        #expect(done.state == .landed)
        #expect(first ?? 0 >= 5 << 20, "the part that had arrived was not sent again")
        #expect(Set(store.ids) == [done.id])
        #expect(store.last == nil, "the state is forgotten")
        let stored = try await content(done.bucket, done.key)
        try expectSame(stored, Data(contentsOf: file))
        // An upload that was aborted meanwhile begins anew.
        let other = Sluice.Target(bucket: world.bucket, key: "\(world.folder)paused2")
        try await plan(world.store, Fault(kind: "delay", method: "PUT", skip: 1, seconds: 1))
        await paused(other)
        let gone = try #require(store.ids.last)
        try await client.abortParts(gone)
        let fresh = try await client.upload(file: file, to: other, options: options).value
        #expect(fresh.state == .landed)
        #expect(fresh.id != gone)
        // Cancelling what goes on discards what the paused upload has left.
        let third = Sluice.Target(bucket: world.bucket, key: "\(world.folder)paused3")
        try await plan(world.store, Fault(kind: "delay", method: "PUT", skip: 1, seconds: 1))
        await paused(third)
        let id = try #require(store.ids.last)
        #expect(store.last != nil)
        let ended = client.upload(file: file, to: third, options: options)
        ended.cancel()
        await #expect(throws: (any Error).self) { try await ended.value }
        let found = try await client.partsUpload(id)
        #expect(found.state == "aborted")
        #expect(store.last == nil, "the state is forgotten")
        #expect(Set(store.ids).count == 4, "no upload began")
    }

    @Test("an upload that is stopped while the gateway confirms it has its object at the store, and is not sent again")
    func stoppedLate() async throws {
        for (name, stop) in [("six.bin", "pause"), ("one.bin", "cancel")] {
            let store = RecordingStore(MemoryStateStore())
            let client = world.client(states: store) { $0.partSize = 5 << 20 }
            try await plan(world.gateway, Fault(kind: "delay", method: "POST", path: ":confirm", seconds: 600))
            let upload = client.upload(
                file: world.file(name), to: .init(bucket: world.bucket, key: "\(world.folder)late-\(stop)"))
            while try await !left(world.gateway).isEmpty {}
            if stop == "pause" { upload.pause() } else { upload.cancel() }
            let done = try await upload.value
            #expect(done.state == nil)
            #expect(store.last == nil, "the state is forgotten")
            let stored = try await content(done.bucket, done.key)
            try expectSame(stored, Data(contentsOf: world.file(name)))
        }
    }

    @Test("an upload does not go on with another file of the same name, length and time")
    func otherFile() async throws {
        try await withDirectory { directory in
            let elsewhere = directory.appendingPathComponent("elsewhere")
            try FileManager.default.createDirectory(at: elsewhere, withIntermediateDirectories: false)
            let time = Date(timeIntervalSince1970: 1_900_000_000)
            func write(_ content: Data, to folder: URL) throws -> URL {
                let file = folder.appendingPathComponent("same")
                // The old file is there until the new one replaces it, so they have different inodes.
                try content.write(to: file, options: .atomic)
                try FileManager.default.setAttributes([.modificationDate: time], ofItemAtPath: file.path)
                return file
            }
            for folder in [directory, elsewhere] {
                let store = RecordingStore(MemoryStateStore())
                let client = world.client(states: store)
                var options = Sluice.UploadOptions()
                options.partSize = 5 << 20
                options.parallel = 1
                let target = Sluice.Target(bucket: world.bucket, key: "\(world.folder)same")
                try await plan(world.store, Fault(kind: "delay", method: "PUT", skip: 1, seconds: 1))
                let file = try write(Data(contentsOf: world.file("six.bin")), to: directory)
                let upload = client.upload(file: file, to: target, options: options)
                for await progress in upload.progress where progress.loaded > 5 << 20 { upload.pause() }
                await #expect(throws: CancellationError.self) { try await upload.value }
                let other = try write(bytes(6 << 20), to: folder)
                let done = try await client.upload(file: other, to: target, options: options).value
                #expect(done.state == .landed)
                #expect(Set(store.ids).count == 2)
                let stored = try await content(done.bucket, done.key)
                expectSame(stored, bytes(6 << 20))
            }
        }
    }

    @Test("a file that changes during its upload makes no object")
    func changed() async throws {
        try await withDirectory { directory in
            let file = directory.appendingPathComponent("changing")
            try FileManager.default.copyItem(at: world.file("six.bin"), to: file)
            let store = RecordingStore(MemoryStateStore())
            let client = world.client(states: store)
            var options = Sluice.UploadOptions()
            options.partSize = 5 << 20
            options.parallel = 1
            let upload = client.upload(
                file: file, to: .init(bucket: world.bucket, key: "\(world.folder)changed"), options: options)
            var hasChanged = false
            for await _ in upload.progress where !hasChanged {
                hasChanged = true
                let handle = try FileHandle(forWritingTo: file)
                try handle.seekToEnd()
                try handle.write(contentsOf: Data("x".utf8))
                try handle.close()
            }
            let error = await refusal { try await upload.value }
            #expect(error?.code == .fileChanged)
            let found = try await client.partsUpload(try #require(store.ids.first))
            #expect(found.state == "aborted")
        }
    }

    @Test("a form uploads a file, and none that is too large")
    func form() async throws {
        try await withDirectory { directory in
            let client = world.client()
            var request = Sluice.FormRequest(bucket: world.bucket, contentTypes: ["image/png"], maxBytes: 60_000)
            request.keyPrefix = world.folder
            request.keyExtension = "png"
            let form = try await client.form(request)
            try await plan(world.store, Fault(kind: "cut", method: "POST", after: 20_000))
            let upload = client.sendForm(form, file: try directory.file("a \"picture\".png", bytes(50_000)))
            var last: TransferProgress?
            for await progress in upload.progress { last = progress }
            let done = try await upload.value
            #expect(done.key == form.key)
            #expect(last == TransferProgress(loaded: 50_000, total: 50_000))
            try await expectAllHappened(world.store)
            let found = try await client.confirm(form.id)
            #expect(found.state == .landed)
            let stored = try await content(done.bucket, done.key)
            expectSame(stored, bytes(50_000))
            let error = await refusal {
                try await client.sendForm(form, file: directory.file("large", bytes(70_000))).value
            }
            #expect(error?.source == .store)
            #expect(error?.code == .entityTooLarge)
            // The client names the object. A symbolic link stands for the file to which it leads.
            request.keyPrefix = nil
            request.keyExtension = nil
            request.keyStartsWith = "\(world.folder)named/"
            let named = try await client.form(request)
            let file = try directory.file("target.png", bytes(40_000))
            let link = file.deletingLastPathComponent().appendingPathComponent("my own.png")
            try FileManager.default.createSymbolicLink(at: link, withDestinationURL: file)
            let sent = try await client.sendForm(named, file: link).value
            #expect(sent.key == "\(world.folder)named/my own.png")
            let linked = try await content(sent.bucket, sent.key)
            expectSame(linked, bytes(40_000))
            let device = await refusal {
                try await client.sendForm(named, file: URL(fileURLWithPath: "/dev/zero")).value
            }
            #expect(device?.code == .invalidArgument)
        }
    }
}
