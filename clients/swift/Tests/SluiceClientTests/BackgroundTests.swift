import Foundation
import Testing

@testable import SluiceClient

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

extension RunningTests {
    // Only Apple's systems have background sessions; here an ordinary one does the work.
    private func uploads(_ directory: URL, patience: Duration = .seconds(60)) -> BackgroundUploads {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.timeoutIntervalForRequest = 60
        return BackgroundUploads(
            client: world.client { $0.partSize = 5 << 20 }, directory: directory, configuration: configuration,
            patience: patience)
    }

    /// Does what the system does when it has told all, and waits until it may suspend the app.
    private func deliver(_ uploads: BackgroundUploads) async {
        await withCheckedContinuation { continuation in
            uploads.delegate.completion.withLock { $0 = { continuation.resume() } }
            uploads.delegate.happening.yield(.delivered)
        }
    }

    @Test("a background upload sends parts from files, asks for links again, and goes on after a restart")
    func background() async throws {
        try await withDirectory { directory in
            let kept = directory.appendingPathComponent("uploads")
            let file = directory.appendingPathComponent("film")
            try FileManager.default.copyItem(at: world.file("six.bin"), to: file)
            // The first part arrives, and the second is under way when the app ends.
            try await plan(world.store, Fault(kind: "delay", method: "PUT", skip: 1, seconds: 600))
            let first = uploads(kept)
            let id = try await first.start(
                file: file, to: .init(bucket: world.bucket, key: "\(world.folder)background", contentType: "video/mp4"))
            try FileManager.default.removeItem(at: file)
            var arrived: TransferProgress?
            for await event in first.events {
                guard case .progressed(_, let progress) = event else { continue }
                arrived = progress
                await first.end()
            }
            #expect([1 << 20, 5 << 20].contains(arrived?.loaded))
            let files = try FileManager.default.contentsOfDirectory(atPath: kept.appendingPathComponent(id).path)
            #expect(files.count == 2, "the state, and the part that has not arrived")
            try await plan(
                world.store, .expired, Fault(kind: "cut", method: "PUT", after: 10_000),
                Fault(kind: "answer", method: "PUT", status: 503))
            let second = uploads(kept)
            var done: Sluice.UploadResult?
            for await event in second.events {
                if case .failed(_, let error) = event { Issue.record(error) }
                if case .finished(let result) = event { done = result }
                if case .progressed = event { continue }
                await second.end()
            }
            #expect(done?.id == id)
            #expect(done?.state == .landed)
            try await expectAllHappened(world.store)
            let stored = try await content(world.bucket, "\(world.folder)background")
            try expectSame(stored, Data(contentsOf: world.file("six.bin")))
            let left = try FileManager.default.contentsOfDirectory(atPath: kept.path)
            #expect(left == [])
        }
    }

    /// What becomes of the next upload that ends.
    private func next(_ uploads: BackgroundUploads) async throws -> Sluice.UploadResult {
        for await event in uploads.events {
            switch event {
            case .progressed: continue
            case .finished(let result): return result
            case .failed(_, let error): throw error
            }
        }
        throw CancellationError()
    }

    @Test("background uploads learn of each bucket what it needs, and wait for a quota to open")
    func backgroundBuckets() async throws {
        try await withDirectory { directory in
            let uploads = uploads(directory)
            for bucket in [world.strictBucket, world.bucket, world.strictBucket] {
                if bucket == world.bucket { try await plan(world.gateway, .usedUp(resetsIn: 1)) }
                let id = try await uploads.start(
                    file: world.file("six.bin"), to: .init(bucket: bucket, key: "\(world.folder)background3"))
                let done = try await next(uploads)
                #expect(done.id == id)
                #expect(done.bucket == bucket)
                #expect([.landed, .unverified].contains(done.state))
                try await expectAllHappened(world.gateway)
            }
            await uploads.end()
        }
    }

    @Test(
        "a background upload that waits for a quota delays no other, and ends when it is cancelled",
        arguments: ["a launch", "a refusal"])
    func backgroundWaiting(_ after: String) async throws {
        try await withDirectory { directory in
            let name = "\(world.folder)background5"
            try await plan(world.store, Fault(kind: "delay", method: "PUT", path: name, seconds: 600))
            let first = uploads(directory)
            let id = try await first.start(file: world.file("one.bin"), to: .init(bucket: world.bucket, key: name))
            await first.end()
            var expired = Fault.expired
            expired.path = name
            try await plan(world.store, expired)
            var usedUp = Fault.usedUp(resetsIn: 50)
            usedUp.path = "/\(id)/parts"
            usedUp.skip = after == "a launch" ? 0 : 1
            try await plan(world.gateway, usedUp)
            let start = ContinuousClock.now
            let second = uploads(directory, patience: .zero)
            while try await !left(world.gateway).isEmpty {}
            let other = try await second.start(
                file: world.file("one.bin"), to: .init(bucket: world.strictBucket, key: "\(world.folder)background6"))
            let done = try await next(second)
            #expect(done.id == other)
            await deliver(second)
            try await second.cancel(id)
            #expect(ContinuousClock.now - start < .seconds(50), "nothing waited for the quota")
            let found = try await world.client().partsUpload(id)
            #expect(found.state == "aborted")
            let files = try FileManager.default.contentsOfDirectory(atPath: directory.path)
            #expect(files == [])
            await second.end()
            for await event in second.events { Issue.record("\(event)") }
            try await plan(world.store)
        }
    }

    @Test("a background upload that has stopped is resumed, and sends no part twice")
    func backgroundResumed() async throws {
        try await withDirectory { directory in
            let mark = Fault(kind: "delay", method: "PUT", seconds: 0)
            try await plan(world.store, Fault(kind: "delay", method: "PUT", seconds: 5), mark, mark)
            var usedUp = Fault.usedUp(resetsIn: 3600)
            usedUp.skip = 1
            try await plan(world.gateway, usedUp)
            let uploads = uploads(directory)
            let id = try await uploads.start(
                file: world.file("six.bin"), to: .init(bucket: world.bucket, key: "\(world.folder)background8"))
            let error = await refusal { try await next(uploads) }
            #expect(error?.code == .quotaExceeded)
            try await expectAllHappened(world.gateway)
            await uploads.resume(id)
            let done = try await next(uploads)
            #expect(done.id == id)
            #expect(done.state == .landed)
            let rest = try await plan(world.store)
            #expect(rest.count == 1, "two parts, each sent once")
            await uploads.resume(id)
            await uploads.end()
            for await event in uploads.events { Issue.record("\(event)") }
        }
    }

    @Test("links that have ended use up no attempts of a part, and eight other refusals do")
    func backgroundAttempts() async throws {
        try await withDirectory { directory in
            let uploads = uploads(directory)
            let ended = Fault(
                kind: "answer", method: "POST", path: "/parts", status: 200,
                body: """
                    {"results": [{"id": "i", "method": "PUT", "bucket": "b", "key": "k", "headers": {}, \
                    "url": "\(world.store.absoluteString)/ended", "expiresAt": "2030-05-17T09:30:00Z", "expiresIn": 0, \
                    "enforcedBy": "none"}]}
                    """)
            try await plan(world.gateway, [Fault](repeating: ended, count: 10))
            try await plan(world.store, [Fault](repeating: .expired, count: 10))
            let id = try await uploads.start(
                file: world.file("one.bin"), to: .init(bucket: world.bucket, key: "\(world.folder)background9"))
            let done = try await next(uploads)
            #expect(done.id == id)
            try await expectAllHappened(world.gateway, world.store)
            try await plan(world.store, [Fault](repeating: .expired, count: 8))
            let other = try await uploads.start(
                file: world.file("one.bin"), to: .init(bucket: world.bucket, key: "\(world.folder)background10"))
            let error = await refusal { try await next(uploads) }
            #expect(error?.status == 403)
            try await expectAllHappened(world.store)
            // It has all attempts again.
            try await plan(world.store, .expired)
            await uploads.resume(other)
            let resumed = try await next(uploads)
            #expect(resumed.id == other)
            try await expectAllHappened(world.store)
            await uploads.end()
        }
    }

    @Test("a part is not sent twice if the end of its task in an earlier launch is told late")
    func backgroundToldLate() async throws {
        try await withDirectory { directory in
            try await plan(world.store, Fault(kind: "delay", method: "PUT", seconds: 600))
            let first = uploads(directory)
            let id = try await first.start(
                file: world.file("one.bin"), to: .init(bucket: world.bucket, key: "\(world.folder)background11"))
            while try await !left(world.store).isEmpty {}
            await first.end()
            try await plan(
                world.store, Fault(kind: "delay", method: "PUT", seconds: 5),
                Fault(kind: "delay", method: "PUT", seconds: 0))
            let second = uploads(directory)
            let late = Happening.ended(
                PartName(id: id, number: 1), task: 1_000, nil, SluiceError.lost("The app was not there."))
            second.delegate.happening.yield(late)
            // The part is under way again.
            while try await left(world.store).count > 1 {}
            second.delegate.happening.yield(late)
            let done = try await next(second)
            #expect(done.id == id)
            let rest = try await plan(world.store)
            #expect(rest.count == 1, "one part, sent once")
            await second.end()
        }
    }

    @Test("a part that arrived in an earlier launch is not sent again if that is told late")
    func backgroundArrivalToldLate() async throws {
        try await withDirectory { directory in
            try await plan(world.store, Fault(kind: "delay", method: "PUT", seconds: 600))
            let first = uploads(directory)
            let id = try await first.start(
                file: world.file("one.bin"), to: .init(bucket: world.bucket, key: "\(world.folder)background12"))
            while try await !left(world.store).isEmpty {}
            await first.end()
            // What the system does while the app is not there.
            let client = world.client()
            var part = Sluice.PartRequest(partNumber: 1)
            part.contentLength = 1 << 20
            let link = try await client.partLink(id, part)
            let arrived = try await client.put(
                world.file("one.bin"), to: link.url, method: link.method, headers: link.headers)
            try await plan(
                world.store, Fault(kind: "delay", method: "PUT", seconds: 600),
                Fault(kind: "delay", method: "PUT", seconds: 0))
            let second = uploads(directory)
            // The part is under way again.
            while try await left(world.store).count > 1 {}
            second.delegate.happening.yield(.ended(PartName(id: id, number: 1), task: 1_000, arrived.head, nil))
            let done = try await next(second)
            #expect(done.id == id)
            #expect(done.state == .landed)
            let rest = try await plan(world.store)
            #expect(rest.count == 1, "it was not sent once more")
            await second.end()
        }
    }

    @Test("the system may suspend the app once the uploads whose parts have arrived are completed")
    func backgroundDelivered() async throws {
        try await withDirectory { directory in
            try await plan(world.gateway, Fault(kind: "delay", path: ":complete", seconds: 1))
            let uploads = uploads(directory)
            let id = try await uploads.start(
                file: world.file("one.bin"), to: .init(bucket: world.bucket, key: "\(world.folder)background7"))
            for await _ in uploads.events { break }
            await deliver(uploads)
            let found = try await world.client().partsUpload(id)
            #expect(found.state == "completed")
            try await expectAllHappened(world.gateway)
            await uploads.end()
        }
    }

    @Test("a background upload whose state cannot be read keeps its parts, and one without a state is aborted")
    func backgroundUnreadable() async throws {
        try await withDirectory { directory in
            let client = world.client()
            let begun = try await client.startParts(.init(bucket: world.bucket, key: "\(world.folder)background4"))
            for id in ["unreadable", begun.id] {
                let folder = directory.appendingPathComponent(id)
                try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
                _ = try folder.file("1", bytes(10))
            }
            let unreadable = directory.appendingPathComponent("unreadable")
            _ = try unreadable.file("state", Data("not json".utf8))
            let uploads = uploads(directory)
            var failed: String?
            for await event in uploads.events {
                if case .failed(let id, let error) = event, error is DecodingError { failed = id }
                break
            }
            #expect(failed == "unreadable")
            let part = try Data(contentsOf: unreadable.appendingPathComponent("1"))
            #expect(part == bytes(10))
            // It is aborted while others go on.
            while try await client.partsUpload(begun.id).state != "aborted" {}
            let left = try FileManager.default.contentsOfDirectory(atPath: directory.path)
            #expect(left == ["unreadable"])
            await uploads.end()
        }
    }

    @Test("a background upload that is cancelled is aborted, and leaves no files")
    func backgroundCancelled() async throws {
        try await withDirectory { directory in
            try await plan(world.store, Fault(kind: "delay", method: "PUT", seconds: 600))
            let uploads = uploads(directory)
            let id = try await uploads.start(
                file: world.file("one.bin"), to: .init(bucket: world.bucket, key: "\(world.folder)background2"))
            try await uploads.cancel(id)
            let found = try await world.client().partsUpload(id)
            #expect(found.state == "aborted")
            let left = try FileManager.default.contentsOfDirectory(atPath: directory.path)
            #expect(left == [])
            await uploads.end()
            try await plan(world.store)
        }
    }
}
