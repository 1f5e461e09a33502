import Foundation
import SluiceClient
import Testing

extension RunningTests {
    private func cut(_ after: Int) -> Fault {
        Fault(kind: "cut-answer", method: "GET", path: "download", after: after)
    }

    private func uploaded(_ file: URL, _ name: String) async throws -> Sluice.ObjectRequest {
        let key = "\(world.folder)download/\(name)"
        _ = try await world.client().upload(file: file, to: .init(bucket: world.bucket, key: key)).value
        return .init(bucket: world.bucket, key: key)
    }

    @Test("a download that was cut goes on where it stopped")
    func downloadGoesOn() async throws {
        try await withDirectory { directory in
            let object = try await uploaded(world.file("six.bin"), "cut")
            let busy = Fault(kind: "answer", method: "GET", path: "download", status: 503)
            try await plan(world.store, cut(2 << 20), cut(1 << 20), busy, cut(1_000))
            let file = try directory.file("copy", Data("an older file".utf8))
            let download = world.client().download(object, to: file)
            var seen: [Int64] = []
            for await progress in download.progress { seen.append(progress.loaded) }
            let done = try await download.value
            try await expectAllHappened(world.store)
            #expect(done.size == 6 << 20)
            #expect(seen == seen.sorted())
            #expect(seen.last == 6 << 20)
            let (copied, whole) = (try Data(contentsOf: file), try Data(contentsOf: world.file("six.bin")))
            expectSame(copied, whole)
            let left = try FileManager.default.contentsOfDirectory(atPath: directory.path)
            #expect(left == ["copy"])
        }
    }

    @Test("a download that was interrupted goes on in a later program, unless the object has changed")
    func downloadLater() async throws {
        try await withDirectory { directory in
            let object = try await uploaded(world.file("six.bin"), "later")
            let states = directory.appendingPathComponent("states")
            let file = directory.appendingPathComponent("copy")
            func interrupt() async throws {
                try await plan(world.store, cut(2 << 20))
                let client = world.client(states: DirectoryStateStore(states)) { $0.retries = 0 }
                let error = await refusal { try await client.download(object, to: file).value }
                #expect(error?.source == .network)
                try await expectAllHappened(world.store)
            }
            try await interrupt()
            let later = world.client(states: DirectoryStateStore(states)).download(object, to: file)
            var first: Int64?
            for await progress in later.progress { first = first ?? progress.loaded }
            _ = try await later.value
            #expect(first ?? 0 > 1 << 20, "it went on")
            let (copied, whole) = (try Data(contentsOf: file), try Data(contentsOf: world.file("six.bin")))
            expectSame(copied, whole)
            // An object that is another one meanwhile is downloaded from its beginning.
            try await interrupt()
            _ = try await uploaded(directory.file("other", bytes(3 << 20)), "later")
            _ = try await world.client(states: DirectoryStateStore(states)).download(object, to: file).value
            let newest = try Data(contentsOf: file)
            expectSame(newest, bytes(3 << 20))
        }
    }

    @Test("a download to the part file of another object begins anew")
    func downloadOther() async throws {
        try await withDirectory { directory in
            let first = try await uploaded(world.file("six.bin"), "first")
            let second = try await uploaded(directory.file("other", bytes(6 << 20)), "second")
            let client = world.client(states: MemoryStateStore()) { $0.retries = 0 }
            let file = directory.appendingPathComponent("copy")
            for object in [first, second] {
                try await plan(world.store, cut(2 << 20))
                let error = await refusal { try await client.download(object, to: file).value }
                #expect(error?.source == .network)
                try await expectAllHappened(world.store)
            }
            _ = try await client.download(first, to: file).value
            let (copied, whole) = (try Data(contentsOf: file), try Data(contentsOf: world.file("six.bin")))
            expectSame(copied, whole)
        }
    }

    @Test("downloads to files of one name in two directories make no mixture")
    func downloadElsewhere() async throws {
        try await withDirectory { directory in
            let states = MemoryStateStore()
            let client = world.client(states: states) { $0.retries = 0 }
            let object = try await uploaded(world.file("six.bin"), "name")
            let folders = ["here", "there"].map { directory.appendingPathComponent($0) }
            for folder in folders {
                try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
                try await plan(world.store, cut(2 << 20))
                let file = folder.appendingPathComponent("copy")
                let error = await refusal { try await client.download(object, to: file).value }
                #expect(error?.source == .network)
                try await expectAllHappened(world.store)
                // The second directory gets the beginning of another object.
                if folder == folders[0] { _ = try await uploaded(directory.file("other", bytes(6 << 20)), "name") }
            }
            let file = folders[0].appendingPathComponent("copy")
            _ = try await world.client(states: states).download(object, to: file).value
            let newest = try Data(contentsOf: file)
            expectSame(newest, bytes(6 << 20))
        }
    }

    @Test("of two downloads to a file, the second is refused, and a file that another program completes stays")
    func downloadTwice() async throws {
        try await withDirectory { directory in
            let object = try await uploaded(world.file("six.bin"), "twice")
            let client = world.client()
            let file = directory.appendingPathComponent("copy")
            let delay = Fault(kind: "delay", method: "GET", path: "download", seconds: 1)
            try await plan(world.store, delay)
            let first = client.download(object, to: file)
            while try await !left(world.store).isEmpty {}
            let refused = await refusal { try await client.download(object, to: file).value }
            #expect(refused?.code == .conflict)
            _ = try await first.value
            let (copied, whole) = (try Data(contentsOf: file), try Data(contentsOf: world.file("six.bin")))
            expectSame(copied, whole)
            // Another program ends first, and gives the file its name.
            try FileManager.default.removeItem(at: file)
            try await plan(world.store, delay)
            let late = client.download(object, to: file)
            while try await !left(world.store).isEmpty {}
            let partial = file.appendingPathExtension("sluice-part")
            try Data("whole".utf8).write(to: partial)
            try FileManager.default.moveItem(at: partial, to: file)
            let changed = await refusal { try await late.value }
            #expect(changed?.code == .fileChanged)
            let kept = try Data(contentsOf: file)
            expectSame(kept, Data("whole".utf8))
        }
    }

    @Test("a file that another program begins anew makes no mixture, and the next download begins anew")
    func downloadShared() async throws {
        try await withDirectory { directory in
            let object = try await uploaded(world.file("six.bin"), "shared")
            let client = world.client()
            let file = directory.appendingPathComponent("copy")
            try await plan(
                world.store, cut(3 << 20), Fault(kind: "delay", method: "GET", path: "download", seconds: 3))
            let download = client.download(object, to: file)
            var hasWritten = false
            for await progress in download.progress where progress.loaded > 1 << 20 && !hasWritten {
                hasWritten = true
                let other = try FileHandle(forWritingTo: file.appendingPathExtension("sluice-part"))
                try other.truncate(atOffset: 0)
                try other.write(contentsOf: Data("other".utf8))
                try other.close()
            }
            let changed = await refusal { try await download.value }
            #expect(changed?.code == .fileChanged)
            #expect(!FileManager.default.fileExists(atPath: file.path))
            try await plan(world.store)
            _ = try await client.download(object, to: file).value
            let (copied, whole) = (try Data(contentsOf: file), try Data(contentsOf: world.file("six.bin")))
            expectSame(copied, whole)
        }
    }

    @Test("an object that is replaced during its download makes no mixture")
    func downloadReplaced() async throws {
        try await withDirectory { directory in
            let object = try await uploaded(world.file("six.bin"), "replaced")
            let other = try directory.file("other", bytes(6 << 20))
            try await plan(
                world.store, cut(3 << 20), Fault(kind: "delay", method: "GET", path: "download", seconds: 3))
            let download = world.client().download(object, to: directory.appendingPathComponent("copy"))
            var hasReplaced = false
            for await progress in download.progress where progress.loaded > 1 << 20 && !hasReplaced {
                hasReplaced = true
                _ = try await uploaded(other, "replaced")
            }
            let done = try await download.value
            try await expectAllHappened(world.store)
            let copied = try Data(contentsOf: done.file)
            expectSame(copied, bytes(6 << 20))
        }
    }

    @Test("a download URL works without the client, and names the file")
    func downloadURL() async throws {
        try await withDirectory { directory in
            var object = try await uploaded(directory.file("url", bytes(1_000)), "url")
            object.response = .init(filename: "Katze – 猫.png")
            let url = try await world.client().downloadURL(for: object)
            #expect(url.absoluteString.contains("response-content-disposition"))
            let found = try Data(contentsOf: url)
            expectSame(found, bytes(1_000))
        }
    }
}
