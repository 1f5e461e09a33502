import Foundation
import Testing

@testable import SluiceClient

/// Forgets nothing, so that each completion looks as if its answer had been lost.
private final class KeepingStore: StateStore {
    let kept = Locked<[String: TransferState]>([:])

    func state(named name: String) -> TransferState? { kept.withLock { $0[name] } }

    func setState(_ state: TransferState?, named name: String) {
        guard let state else { return }
        kept.withLock { $0[name] = state }
    }
}

extension RunningTests {
    @Test("of two uploads of a file to one target, the second begins anew, and cancelling it leaves the first")
    func sideBySide() async throws {
        let store = RecordingStore(MemoryStateStore())
        let client = world.client(states: store)
        var options = Sluice.UploadOptions()
        options.partSize = 5 << 20
        options.parallel = 1
        let file = world.file("six.bin")
        let target = Sluice.Target(bucket: world.bucket, key: "\(world.folder)side-by-side")
        try await plan(world.store, Fault(kind: "delay", method: "PUT", skip: 1, seconds: 5))
        let first = client.upload(file: file, to: target, options: options)
        // The first part has arrived when the second begins.
        for await progress in first.progress where progress.loaded > 5 << 20 { break }
        let second = client.upload(file: file, to: target, options: options)
        for await _ in second.progress { second.cancel() }
        await #expect(throws: CancellationError.self) { try await second.value }
        let done = try await first.value
        #expect(done.state == .landed)
        #expect(store.ids == [done.id], "the second keeps no state")
        #expect(store.last == nil, "the state is forgotten")
        try await expectAllHappened(world.store)
        // The name is free again.
        let third = try await client.upload(file: file, to: target, options: options).value
        #expect(store.ids == [done.id, third.id])
    }

    @Test("a completion whose answer was lost is repeated for an hour, and later the upload begins anew")
    func lateCompletion() async throws {
        let store = KeepingStore()
        let client = world.client(states: store) { $0.partSize = 5 << 20 }
        let target = Sluice.Target(bucket: world.bucket, key: "\(world.folder)late-completion")
        func upload() async throws -> String {
            let done = try await client.upload(file: world.file("six.bin"), to: target).value
            #expect(done.state == .landed)
            return done.id
        }
        func age(_ seconds: TimeInterval) {
            store.kept.withLock { states in
                states = states.mapValues { state in
                    var older = state
                    older.completing = state.completing?.addingTimeInterval(-seconds)
                    return older
                }
            }
        }
        let first = try await upload()
        let again = try await upload()
        #expect(again == first)
        age(3_600)
        let anew = try await upload()
        #expect(anew != first)
    }

    @Test("a part that the store no longer has is sent again by the next call")
    func lostPart() async throws {
        for (isGone, hasAllTags) in [(false, false), (false, true), (true, false), (true, true)] {
            let store = KeepingStore()
            let client = world.client(states: store) {
                $0.partSize = 5 << 20
                $0.parallel = 1
                $0.retries = 0
            }
            let target = Sluice.Target(bucket: world.bucket, key: "\(world.folder)lost-part-\(isGone)-\(hasAllTags)")
            func upload() async throws -> Sluice.UploadResult {
                try await client.upload(file: world.file("six.bin"), to: target).value
            }
            // The second part never arrives, or is replaced before the upload is completed.
            if isGone {
                try await plan(world.store, Fault(kind: "answer", method: "PUT", skip: 1, status: 501))
            } else {
                try await plan(world.gateway, Fault(kind: "answer", method: "POST", path: ":complete", status: 503))
            }
            _ = await refusal { try await upload() }
            try await expectAllHappened(world.store, world.gateway)
            let (name, kept) = try #require(store.kept.withLock { $0.first })
            let id = try #require(kept.uploadID)
            if !isGone {
                var part = Sluice.PartRequest(partNumber: 2)
                part.contentLength = 1 << 20
                let link = try await client.partLink(id, part)
                _ = try await client.put(
                    world.file("one.bin"), to: link.url, method: link.method, headers: link.headers)
            }
            let tags = try #require(kept.tags)
            let second = try isGone ? String(repeating: "0", count: 32) : #require(tags[2])
            var state = kept
            state.tags = hasAllTags ? tags.merging([2: second]) { $1 } : [2: second]
            store.setState(state, named: name)
            let done = try await upload()
            #expect(done.id == id)
            #expect(done.state == .landed)
            let stored = try await content(done.bucket, done.key)
            try expectSame(stored, Data(contentsOf: world.file("six.bin")))
        }
    }
}

struct ResumingTests {
    @Test("the beginning of a completion is kept, and counts for an hour")
    func hour() throws {
        let start = Date(timeIntervalSinceReferenceDate: 900_000_000)
        let state = TransferState(uploadID: "i", key: "k", partSize: 5, tags: [1: "a"], completing: start)
        let kept = try JSONDecoder().decode(TransferState.self, from: JSONEncoder().encode(state))
        let begun = try #require(BegunUpload(kept))
        #expect(begun.state == state)
        let recent = [-1, 0, 3_599, 3_600].filter {
            begun.beganCompleting(inHourBefore: start.addingTimeInterval($0))
        }
        #expect(recent == [0, 3_599])
        let other = try #require(BegunUpload(TransferState(uploadID: "i", key: "k", partSize: 5)))
        #expect(!other.beganCompleting(inHourBefore: start))
    }
}
