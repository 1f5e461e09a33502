import Foundation
import SluiceClient
import Testing

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
