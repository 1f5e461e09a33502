import Bytes
import Foundation
import HTTPServing
import HTTPTesting
import HTTPTypes
import PostgresTesting
import Synchronization
import TestSupport
import Testing

/// Callbacks signed with a made-up key. A peer serves the key in place of Alibaba OSS, and also plays the store behind
/// the bucket.
@Suite struct OSSCallbackTests {
    private static func openssl(_ arguments: [String], input: [UInt8] = []) throws -> [UInt8] {
        let (status, output) = try OpenSSL.run(arguments, input: input)
        try #require(status == 0, "\(arguments)")
        return output
    }

    private static func call(
        _ port: UInt16, _ body: String, signedWith key: String, keyURL: String
    ) async throws -> RawResponse {
        let bytes = Array(body.utf8)
        let message = Array("/v1/events/oss\n".utf8) + bytes
        let signature = Base64.encode(try openssl(["dgst", "-md5", "-sign", key], input: message))
        let request = RawRequest(
            "POST", "/v1/events/oss",
            headers: [
                (name: "Host", value: "127.0.0.1:\(port)"), (name: "Connection", value: "close"),
                (name: "Content-Type", value: "application/x-www-form-urlencoded"),
                (name: "Content-Length", value: "\(bytes.count)"), (name: "Authorization", value: signature),
                (name: "x-oss-pub-key-url", value: Base64.encode(Array(keyURL.utf8))),
            ], body: bytes)
        return try await request.answer(fromPort: port)
    }

    @Test func `a callback that OSS signed is a hint, which the gateway's own look decides`() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "sluice-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let key = folder.appending(path: "key.pem").path
        _ = try Self.openssl(["genrsa", "-out", key, "1024"])
        let publicKey = try Self.openssl(["rsa", "-in", key, "-pubout"])
        let object = Mutex("")
        let looks = Mutex(0)
        // Serves the key, and one object that can be requested.
        let peer = StandIn { request in
            if request.head.target == "/key.pem" {
                return ServerResponse(head: ResponseHead(status: .ok), body: .bytes(publicKey))
            }
            let wanted = object.withLock { $0 }
            guard request.head.method == .head, !wanted.isEmpty, request.head.target.contains(wanted) else {
                return .bytes("", status: .notFound)
            }
            looks.withLock { $0 += 1 }
            return ServerResponse(
                head: ResponseHead(status: .ok, headerFields: [.eTag: "\"E\""]), body: .bytes(Array("12345".utf8)))
        }
        try await peer.serve { origin in
            let settings = ["SLUICE_OUTBOUND_ALLOW": origin, "SLUICE_EVENTS_OSS_KEY_ORIGINS": origin]
            try await Deployment.with(settings: settings) { site in
                let bucket = try await site.makeBucket(
                    "oss-\(UUID().uuidString.lowercased())", endpoint: origin, region: "cn-hangzhou",
                    options: ["provider": "oss", "scheme": "oss-v4"])
                let user = try await site.makeUser("alice")
                try await site.grant(["PutObject"], to: user.principal, in: bucket)
                let issued = try await user.ask(.upload("a.bin", to: bucket))
                site.keepSecret(urlOf: issued)
                let id = try #require(issued.json["id"].text, "\(issued.text)")
                let port = site.gateways[0].port
                func call(_ body: String, keyURL: String? = nil) async throws -> Int {
                    try await Self.call(port, body, signedWith: key, keyURL: keyURL ?? origin + "/key.pem").status
                }
                func states() async throws -> [String?] {
                    let list = try await site.admin.call("GET", "/admin/v1/uploads?bucket=\(bucket)&state=landed")
                    return list.json["items"].items.map { $0["id"].text }
                }
                let early = "bucket=\(bucket)&object=a.bin&size=99&etag=X&reqId=5C06A3B67B8B5A3DA422299D"
                // The store has no object yet, whatever the callback says.
                #expect(try await call(early) == 200)
                #expect(try await states().isEmpty)
                object.withLock { $0 = "a.bin" }
                // A repetition is ignored.
                #expect(try await call(early) == 200)
                #expect(try await states().isEmpty)
                let body = early + "0"
                #expect(try await call(body, keyURL: "http://127.0.0.1:9/key.pem") == 401)
                #expect(try await call(body) == 200)
                #expect(try await call(body) == 200)
                #expect(try await states() == [id])
                let landed = try await site.admin.call("GET", "/admin/v1/uploads?bucket=\(bucket)&state=landed")
                #expect(landed.json["items"].items.first?["size"] == 5, "as the store says: \(landed.text)")
                #expect(looks.withLock { $0 } == 1)
            }
        }
    }
}
