import Foundation
import Testing

@testable import SluiceClient

extension RunningTests {
    @Test("the demo's stores take files, parts and forms", arguments: ["demo", "demo-oss"])
    func demo(_ bucket: String) async throws {
        try await withDirectory { directory in
            let client = Sluice(url: world.demo.url, token: world.demo.key)
            for (name, file, partSize) in [
                ("small ü.png", try directory.file("small", bytes(10_000)), nil),
                ("parts.png", world.file("six.bin"), Int64(5 << 20)),
            ] {
                var options = Sluice.UploadOptions()
                options.partSize = partSize
                let done = try await client.upload(
                    file: file, to: .init(bucket: bucket, key: "users/alice/swift/\(name)", contentType: "image/png"),
                    options: options
                ).value
                #expect(done.state == .landed)
                #expect(done.parts == partSize.map { _ in 2 })
                let copy = try await client.download(
                    .init(bucket: bucket, key: done.key), to: directory.appendingPathComponent("copy")
                ).value
                let (copied, whole) = (try Data(contentsOf: copy.file), try Data(contentsOf: file))
                expectSame(copied, whole)
                #expect(copy.contentType == "image/png")
            }
            var request = Sluice.FormRequest(bucket: bucket, contentTypes: ["image/png"], maxBytes: 20_000)
            request.keyPrefix = "users/alice/swift/"
            let form = try await client.form(request)
            _ = try await client.sendForm(form, file: directory.file("form", bytes(10_000))).value
            let found = try await client.confirm(form.id)
            #expect(found.state == .landed)
            // A policy of S3 fixes one type.
            guard bucket == "demo-oss" else { return }
            request.contentTypes.append("image/webp")
            let either = try await client.form(request)
            let sent = try await client.sendForm(
                either, file: directory.file("either", bytes(10_000)), contentType: "image/webp"
            ).value
            let copy = try await client.download(
                .init(bucket: bucket, key: sent.key), to: directory.appendingPathComponent("either-copy")
            ).value
            #expect(copy.contentType == "image/webp")
            let refused = await refusal {
                try await client.sendForm(
                    either, file: directory.file("third", bytes(10)), contentType: "text/html"
                ).value
            }
            #expect(refused?.source == .store && refused?.status == 403)
        }
    }
}

extension RunningTests {
    @Test("an object at OSS that exists is kept, and an upload whose answer was lost is recognised")
    func existingAtOSS() async throws {
        try await withDirectory { directory in
            let client = Sluice(url: world.demo.url, token: world.demo.key)
            let target = Sluice.Target(bucket: "demo-oss", key: "users/alice/swift/once")
            var options = Sluice.UploadOptions()
            options.createOnly = true
            try await plan(world.demo.store, Fault(kind: "lose", method: "PUT"))
            let done = try await client.upload(
                file: directory.file("first", bytes(3_000)), to: target, options: options
            ).value
            #expect(done.state == .landed)
            try await expectAllHappened(world.demo.store)
            // The answer that is lost is the first refusal.
            try await plan(world.demo.store, Fault(kind: "lose", method: "PUT"))
            let error = await refusal {
                try await client.upload(
                    file: directory.file("second", bytes(3_000, seed: 9)), to: target, options: options
                ).value
            }
            #expect(error?.status == 409)
            #expect(error?.code == .unknown("FileAlreadyExists"))
            try await expectAllHappened(world.demo.store)
        }
    }

    @Test("the token is asked for again if it gets no credentials for the OSS SDKs")
    func ossToken() async throws {
        let asked = Asked()
        let client = Sluice(url: world.demo.url) { [key = world.demo.key] isRefresh in
            await asked.note(isRefresh)
            return isRefresh ? key : "expired"
        }
        _ = try await client.ossCredentials(bucket: "demo-oss", prefix: "users/alice/")
        let questions = await asked.all
        #expect(questions == [false, true])
    }

    @Test("credentials for the OSS SDKs are asked for once until shortly before they end")
    func ossCredentialsCache() async throws {
        let client = Sluice(url: world.demo.url, token: world.demo.key)
        let time = Locked(Date())
        let cache = OSSCredentialsCache(client, bucket: "demo-oss", prefix: "users/alice/") { time.withLock { $0 } }
        // Faults that change nothing count the requests.
        let mark = Fault(kind: "delay", path: "/v1/sts", seconds: 0)
        try await plan(world.demo.url, [Fault](repeating: mark, count: 10))
        let keys = try await withThrowingTaskGroup(of: String.self) { group in
            for _ in 0..<10 { group.addTask { try await cache.credentials().accessKeyID } }
            return try await group.reduce(into: Set()) { $0.insert($1) }
        }
        #expect(keys.count == 1)
        let end = try await cache.credentials().expiration
        time.withLock { $0 = end.addingTimeInterval(-301) }
        _ = try await cache.credentials()
        let once = try await plan(world.demo.url, mark)
        #expect(once.count == 9, "one request for eleven callers")
        time.withLock { $0 = end.addingTimeInterval(-300) }
        _ = try await cache.credentials()
        try await expectAllHappened(world.demo.url)
        // A refusal is not kept.
        time.withLock { $0 = end }
        try await plan(world.demo.url, Fault(kind: "answer", path: "/v1/sts", status: 403), mark)
        let refused = await refusal { try await cache.credentials() }
        #expect(refused?.status == 403)
        _ = try await cache.credentials()
        try await expectAllHappened(world.demo.url)
    }

    @Test("credentials and signatures for the OSS SDKs")
    func ossSDKs() async throws {
        let client = Sluice(url: world.demo.url, token: world.demo.key)
        let found = try await client.ossCredentials(bucket: "demo-oss", prefix: "users/alice/")
        #expect(!found.accessKeyID.isEmpty && !found.accessKeySecret.isEmpty && !found.securityToken.isEmpty)
        #expect(found.expiration > Date().addingTimeInterval(600))
        let refused = await refusal { try await client.ossCredentials(bucket: "elsewhere", prefix: "users/alice/") }
        #expect(refused?.code == .accessDenied)
        #expect(refused?.status == 403)
        let formatter = DateFormatter()
        formatter.locale = Locale(identifier: "en_US_POSIX")
        formatter.timeZone = TimeZone(identifier: "UTC")
        formatter.dateFormat = "EEE, dd MMM yyyy HH:mm:ss 'GMT'"
        let date = formatter.string(from: Date())
        let signature = try await client.ossSignature(
            of: "PUT\n\nimage/png\n\(date)\n/demo-oss/users/alice/signed.png")
        #expect(signature.authorization == "OSS \(signature.accessKeyID):\(signature.signature)")
    }
}
