import Foundation
import Testing

@testable import SluiceClient

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

extension RunningTests {
    // Only Apple's systems have background sessions; here an ordinary one does the work.
    private func uploads(_ directory: URL) -> BackgroundUploads {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.timeoutIntervalForRequest = 60
        return BackgroundUploads(
            client: world.client { $0.partSize = 5 << 20 }, directory: directory, configuration: configuration)
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
