import Foundation
import HTTPTesting
import LibCrypto
import TestSupport
import Testing

/// Uploads to Ceph 16. It obeys `x-amz-acl` and `x-amz-copy-source` although no signature lists them, and compares no
/// checksum. These tests check at the real store what a bucket there may still bind.
@Suite(.storeBenches) struct ClosedUploadTests {
    private static let body = Array("the bytes of an object".utf8)
    private static let digest = DigestAlgorithm.sha256.digest(of: body)

    private func ask(_ bench: StoreBench, _ key: String, bindsDigest: Bool = true) async throws -> Answer {
        var request: JSON = [
            "action": "PutObject", "bucket": "\(bench.bucket)", "key": "\(key)", "contentType": "image/png",
            "contentLength": .number(Self.body.count),
        ]
        if bindsDigest { request = request.with(["checksumSHA256": "\(Self.digest.base64)"]) }
        let answer = try await bench.user.ask(request)
        bench.deployment.keepSecret(urlOf: answer)
        return answer
    }

    private func outcomes(_ bench: StoreBench) async throws -> [String: String] {
        let answer = try await bench.deployment.admin.call("POST", "/admin/v1/buckets/\(bench.bucket):validate")
        try #require(answer.status == 200, "\(answer.text)")
        var outcomes: [String: String] = [:]
        for step in answer.json["steps"].items { outcomes[step["step"].text ?? ""] = step["outcome"].text }
        #expect(answer.json["valid"] == true && answer.json["probeLeft"] == false, "\(answer.text)")
        return outcomes
    }

    @Test("the live check finds what the store obeys, and that the setting keeps it out")
    func validation() async throws {
        try await StoreBench.with(.radosgw, reachesStore: true) { bench in
            let open = try await outcomes(bench)
            for step in ["unsigned-acl", "unsigned-copy", "checksum"] { #expect(open[step] == "warned", "\(open)") }
        }
        try await StoreBench.with(
            .radosgw, options: ["provider": "s3", "honoursUnsignedHeaders": true], reachesStore: true
        ) { bench in
            let closed = try await outcomes(bench)
            for step in ["unsigned-acl", "unsigned-copy", "checksum"] { #expect(closed[step] == "passed", "\(closed)") }
        }
        try await StoreBench.with(.swift, reachesStore: true) { bench in
            let swift = try await outcomes(bench)
            for step in ["unsigned-acl", "unsigned-copy", "checksum"] { #expect(swift[step] == "passed", "\(swift)") }
            #expect(swift["unsigned-times"] == "warned" && swift["unsigned-type"] == "warned", "\(swift)")
        }
        // Links of version 2 cannot keep it out, whatever the bucket says.
        for isClosed in [false, true] {
            let options: [String: JSON] = [
                "provider": "s3", "scheme": "aws-v2", "honoursUnsignedHeaders": .bool(isClosed),
            ]
            try await StoreBench.with(.swift, options: options, reachesStore: true) { bench in
                let old = try await outcomes(bench)
                #expect(old["unsigned-times"] == "warned" && old["unsigned-type"] == "warned", "\(old)")
                #expect(old["unsigned-acl"] == nil && old["checksum"] == nil, "\(old)")
            }
        }
        try await StoreBench.with(
            .swift, options: ["provider": "s3", "externalDeletions": true, "honoursUnsignedHeaders": true],
            reachesStore: true
        ) { bench in
            let closed = try await outcomes(bench)
            for step in ["unsigned-times", "unsigned-type"] { #expect(closed[step] == "passed", "\(closed)") }
            #expect(try await Link(ask(bench, bench.freshKey()).json).use(Self.body).status == 200)
        }
    }

    @Test("an upload by such a link lands, other bytes and other headers do not, and the digest is known")
    func links() async throws {
        try await StoreBench.with(
            .radosgw, options: ["provider": "s3", "honoursUnsignedHeaders": true], reachesStore: true
        ) { bench in
            let key = bench.freshKey()
            #expect(try await ask(bench, key, bindsDigest: false).status == 400)
            let issued = try await ask(bench, key)
            let link = try Link(issued.json)
            #expect(issued.json["headers"]["x-amz-acl"] == "private", "\(issued.json["headers"])")
            #expect(try await link.use(Array(repeating: 0x78, count: Self.body.count)).status == 400)
            #expect(try await link.use(Self.body).status == 200)
            let id = try #require(issued.json["id"].text)
            let confirmed = try await bench.user.client.call("POST", "/v1/issuances/\(id):confirm")
            #expect(confirmed.json["state"] == "landed", "\(confirmed.text)")
        }
    }

    @Test("a SHA-256 that the store neither compares nor tells is unverified")
    func unverified() async throws {
        let bench = try StoreBench.at(.radosgw)
        let issued = try await ask(bench, bench.freshKey())
        #expect(try await Link(issued.json).use(Self.body).status == 200)
        let id = try #require(issued.json["id"].text)
        let confirmed = try await bench.user.client.call("POST", "/v1/issuances/\(id):confirm")
        #expect(confirmed.json["state"] == "unverified", "\(confirmed.text)")
        let list = try await bench.deployment.admin.call("GET", "/admin/v1/uploads?state=unverified")
        #expect(list.json["items"].items.contains { $0["id"].text == id })
    }
}
