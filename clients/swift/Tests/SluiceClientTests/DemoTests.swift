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

    @Test(
        "credentials for the OSS SDKs are asked for once until shortly before they end, by a wrong clock too",
        arguments: [-86_400.0, 86_400])
    func ossCredentialsCache(_ fault: TimeInterval) async throws {
        let client = Sluice(url: world.demo.url, token: world.demo.key)
        let start = ContinuousClock.now
        let time = Locked(start)
        let cache = OSSCredentialsCache(
            client, bucket: "demo-oss", prefix: "users/alice/", now: { time.withLock { $0 } },
            date: { Date().addingTimeInterval(fault) })
        // Faults that change nothing count the requests.
        let mark = Fault(kind: "delay", path: "/v1/sts", seconds: 0)
        try await plan(world.demo.url, [Fault](repeating: mark, count: 10))
        let keys = try await withThrowingTaskGroup(of: String.self) { group in
            for _ in 0..<10 { group.addTask { try await cache.credentials().accessKeyID } }
            return try await group.reduce(into: Set()) { $0.insert($1) }
        }
        #expect(keys.count == 1)
        let found = try await cache.credentials()
        let end = start + .seconds(found.expiration.timeIntervalSince(try #require(found.date)))
        time.withLock { $0 = end - .seconds(301) }
        _ = try await cache.credentials()
        let once = try await plan(world.demo.url, mark)
        #expect(once.count == 9, "one request for twelve callers")
        time.withLock { $0 = end - .seconds(300) }
        _ = try await cache.credentials()
        try await expectAllHappened(world.demo.url)
        // A refusal is not kept.
        time.withLock { $0 = end + .seconds(86_400) }
        try await plan(world.demo.url, Fault(kind: "answer", path: "/v1/sts", status: 403), mark)
        let refused = await refusal { try await cache.credentials() }
        #expect(refused?.status == 403)
        _ = try await cache.credentials()
        try await expectAllHappened(world.demo.url)
    }

    @Test("credentials for the OSS SDKs live by the device's clock where a proxy hides that of the gateway")
    func ossCredentialsWithoutDate() async throws {
        let start = ContinuousClock.now
        let time = Locked(start)
        // A minute passes until the answer is read.
        let client = Sluice(url: world.demo.url) { [key = world.demo.key] _ in
            time.withLock { $0 += .seconds(60) }
            return key
        }
        let cache = OSSCredentialsCache(
            client, bucket: "demo-oss", prefix: "", now: { time.withLock { $0 } },
            date: { Date(timeIntervalSince1970: 1_900_000_000) })
        // The proxy's own answers have no date. The session ends after half an hour.
        let answer = Fault(
            kind: "answer", path: "/v1/sts", status: 201,
            body: """
                {"credentials": {"accessKeyID": "a", "secretAccessKey": "s", "sessionToken": "t"}, \
                "expiresAt": "2030-03-17T18:16:40Z"}
                """)
        try await plan(world.demo.url, answer, answer)
        _ = try await cache.credentials()
        time.withLock { $0 = start + .seconds(1_499) }
        let found = try await cache.credentials()
        #expect(found.date == nil)
        let rest = try await left(world.demo.url)
        #expect(rest.count == 1, "one request for two callers")
        time.withLock { $0 = start + .seconds(1_500) }
        _ = try await cache.credentials()
        try await expectAllHappened(world.demo.url)
    }

    @Test("a caller who is cancelled does not wait for credentials, and the request ends once nobody does")
    func ossCancelled() async throws {
        for others in [0, 1] {
            // The request has no token until the gate opens, which it does in the end even if the caller hangs.
            let (gate, opening) = AsyncStream.makeStream(of: Void.self)
            let late = Task {
                try? await Task.sleep(for: .seconds(30))
                opening.finish()
            }
            let (requests, request) = AsyncStream.makeStream(of: String.self)
            let client = Sluice(url: world.demo.url) { [key = world.demo.key] _ in
                request.yield("begins")
                for await _ in gate {}
                request.yield(Task.isCancelled ? "is cancelled" : "goes on")
                return key
            }
            let cache = OSSCredentialsCache(client, bucket: "demo-oss", prefix: "users/alice/")
            var said = requests.makeAsyncIterator()
            let cancelled = Task { try await cache.credentials() }
            let waiting = (0..<others).map { _ in Task { try await cache.credentials() } }
            #expect(await said.next() == "begins")
            while await cache.fetching?.callers != 1 + others { await Task.yield() }
            cancelled.cancel()
            await #expect(throws: CancellationError.self) { _ = try await cancelled.value }
            if others > 0 { opening.finish() }
            #expect(await said.next() == (others == 0 ? "is cancelled" : "goes on"))
            for task in waiting {
                let found = try await task.value
                #expect(!found.accessKeyID.isEmpty)
            }
            late.cancel()
            opening.finish()
            // The next call asks by a request of its own, unless credentials are kept.
            let found = try await cache.credentials()
            #expect(!found.accessKeyID.isEmpty)
        }
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
