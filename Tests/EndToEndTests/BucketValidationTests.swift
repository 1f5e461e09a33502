import Foundation
import HTTPTesting
import Signing
import TestSupport
import Testing

/// Validation of buckets at stores that verify signatures.
@Suite(.storeBenches) struct BucketValidationTests {
    private func validate(_ bench: StoreBench, _ bucket: String) async throws -> JSON {
        let answer = try await bench.deployment.admin.call("POST", "/admin/v1/buckets/\(bucket):validate")
        try #require(answer.status == 200, "\(answer.text)")
        return answer.json
    }

    private func steps(_ json: JSON) -> [String] {
        json["steps"].items.map { "\($0["step"].text ?? "") \($0["outcome"].text ?? "")" }
    }

    @Test("a credential that may do everything passes every step", arguments: StoreKind.allCases)
    func passes(kind: StoreKind) async throws {
        let bench = try StoreBench.at(kind)
        let found = try await validate(bench, bench.bucket)
        #expect(found["valid"] == true && found["probeLeft"] == false, "\(found)")
        // Ceph 16 obeys unsigned headers of S3 and compares no checksum, and Swift obeys two of its own.
        let unsigned = kind == .radosgw ? ("warned", "passed") : ("passed", "warned")
        #expect(
            steps(found) == ["put", "get", "head", "write-time"].map { "\($0) passed" }
                + ["unsigned-acl", "unsigned-copy"].map { "\($0) \(unsigned.0)" }
                + ["unsigned-times \(unsigned.1)", "unsigned-type \(unsigned.1)", "checksum \(unsigned.0)"]
                + ["delete", "absent", "clock"].map { "\($0) passed" }, "\(found)")
        let key = try #require(found["probeKey"].text)
        #expect(try await bench.downloadLink(key).use().status == 404)
        let audited = """
            SELECT count(*) FROM admin_audit WHERE operation = 'validate' AND resource_id = '\(bench.bucket)'
                AND after->>'probeKey' = '\(key)'
            """
        #expect(try await bench.deployment.number(audited) == 1)
    }

    @Test("another secret, bucket or scheme fails with the store's code", arguments: StoreKind.allCases)
    func fails(kind: StoreKind) async throws {
        let bench = try StoreBench.at(kind)
        let wrong = try await bench.deployment.makeBucket(
            "no-such-\(UUID().uuidString.lowercased())", endpoint: bench.endpoint, region: bench.region,
            accessKeyID: bench.credential.accessKeyID)
        let forged = try await validate(bench, wrong)
        let put = forged["steps"].items[0]
        #expect(forged["valid"] == false && put["status"] == 403 && put["code"] == "SignatureDoesNotMatch", "\(forged)")
        #expect(put["advice"].text?.contains("secret") == true)
        let missing = try await bench.deployment.makeBucket(
            "no-such-\(UUID().uuidString.lowercased())", endpoint: bench.endpoint, region: bench.region,
            accessKeyID: bench.credential.accessKeyID, secretAccessKey: bench.credential.secretAccessKey)
        let absent = try await validate(bench, missing)
        #expect(absent["steps"].items[0]["code"] == "NoSuchBucket", "\(absent)")
        #expect(absent["steps"].items[0]["advice"].text?.contains(missing) == true)
        #expect(absent["probeLeft"] == false)
    }

    @Test("pages pass where the store has a rule for their origin, at radosgw")
    func preflight() async throws {
        let endpoint = try StoreBench.at(.radosgw).endpoint
        let origin = "https://\(UUID().uuidString.lowercased()).example"
        try await StoreBench.with(
            .radosgw, settings: ["SLUICE_OUTBOUND_ALLOW": endpoint],
            options: ["allowedOrigins": ["\(origin)", "https://other.example"]]
        ) { bench in
            try await bench.allowCrossOrigin(origin)
            let found = try await validate(bench, bench.bucket)
            #expect(
                steps(found).filter { $0.hasPrefix("preflight") } == ["preflight passed", "preflight failed"],
                "\(found)")
        }
    }

    @Test("a store that is down, and an address that is not public, are told apart from one that refuses")
    func unreachable() async throws {
        let bench = try StoreBench.at(.radosgw)
        let down = try await bench.deployment.makeBucket(
            "down-\(UUID().uuidString.lowercased())", endpoint: "http://127.0.0.1:9")
        #expect(try await validate(bench, down)["steps"].items[0]["reason"] == "unreachable")
        let inner = try await bench.deployment.makeBucket(
            "inner-\(UUID().uuidString.lowercased())",
            endpoint: "https://127.0.0.1:\(bench.deployment.gateways[0].port)")
        let found = try await validate(bench, inner)
        #expect(found["steps"].items[0]["reason"] == "blocked" && found["steps"].items[0]["status"] == .null)
    }
}
