import Foundation
import HTTPServing
import HTTPTesting
import HTTPTypes
import Signing
import TestSupport
import Testing

/// `sluice qualify` against stores whose holes are known.
@Suite(.storeBenches) struct QualifyCommandTests {
    private func qualify(_ bench: StoreBench, _ options: [String] = []) async throws -> (status: Int32, report: JSON) {
        let process = try RunningProcess(
            [Program.path, "qualify", bench.bucket, "--json"] + options, environment: bench.deployment.environment)
        let status = await process.exitStatus()
        #expect(!process.output.contains("Signature=") && !process.output.contains(bench.credential.secretAccessKey))
        return (status, try JSON(Array(process.output.utf8)))
    }

    private func broken(_ report: JSON) -> Set<String> {
        Set(report["checks"].items.filter { $0["verdict"] == "broken" }.compactMap { $0["check"].text })
    }

    @Test("the known holes of Ceph are found, and nothing else")
    func ceph() async throws {
        let (status, report) = try await qualify(try StoreBench.at(.radosgw))
        #expect(status == 1 && report["isBroken"] == true)
        let found = broken(report)
        #expect(
            found.isSuperset(of: [
                "x-amz-acl, unsigned", "x-amz-copy-source, unsigned", "other bytes than the bound SHA-256 is of",
            ]), "\(found)")
        // It takes any region in the scope of a signature. Sluice promises nothing about it.
        #expect(report["promises"]["region"] == "noted")
        for promise in ["signature", "method", "key", "expiry", "contentType", "size", "creationOnly", "answerHeaders"]
        {
            #expect(report["promises"][promise] == "kept", "\(promise): \(report)")
        }
        // The length is tried by itself, besides the digests that would tell other bytes anyway.
        let lengths = report["checks"].items.filter { $0["promise"] == "size" && $0["delivery"] == "presigned-url" }
        #expect(lengths.count == 4 && lengths.allSatisfy { $0["verdict"] == "kept" }, "\(lengths)")
        #expect(report["leftBehind"].items.isEmpty)
    }

    @Test("with honoursUnsignedHeaders, Ceph can neither publish nor copy")
    func cephClosed() async throws {
        _ = try StoreBench.at(.radosgw)
        try await StoreBench.with(.radosgw, options: ["honoursUnsignedHeaders": true]) { bench in
            let (_, report) = try await qualify(bench)
            let found = broken(report)
            #expect(
                found.isDisjoint(with: [
                    "x-amz-acl, unsigned", "x-amz-grant-read, unsigned", "x-amz-copy-source, unsigned",
                    "other bytes than the bound SHA-256 is of",
                ]), "\(found)")
            #expect(report["promises"]["works"] == "kept", "\(report)")
        }
    }

    @Test("a store that is too busy for the first upload is not qualified")
    func busy() async throws {
        let store = StandIn { .bytes("", status: $0.head.method == .put ? .serviceUnavailable : .noContent) }
        try await store.serve { origin in
            try await Deployment.with { site in
                try await site.makeBucket("busy", endpoint: origin)
                for options in [["--json"], []] {
                    let process = try RunningProcess(
                        [Program.path, "qualify", "busy"] + options, environment: site.environment)
                    #expect(await process.exitStatus() == 1)
                    guard options.isEmpty else {
                        let report = try JSON(Array(process.output.utf8))
                        #expect(report["isInconclusive"] == true && report["isBroken"] == false, "\(report)")
                        #expect(report["isCutShort"] == false && report["leftBehind"].items.isEmpty, "\(report)")
                        continue
                    }
                    #expect(process.output.contains("Not all checks were concluded"), "\(process.output)")
                    #expect(!process.output.contains("--patience"), "\(process.output)")
                }
            }
        }
    }

    @Test("Swift is judged, in all schemes, and nothing is left in the bucket", arguments: StoreKind.allCases)
    func allSchemes(kind: StoreKind) async throws {
        let bench = try StoreBench.at(kind)
        let (_, report) = try await qualify(bench, ["--all-schemes"])
        let schemes = Set(report["checks"].items.compactMap { $0["scheme"].text })
        #expect(schemes == ["aws-v4", "aws-v2"])
        for promise in ["signature", "method", "key", "expiry", "contentType"] {
            #expect(report["promises"][promise] == "kept", "\(promise): \(report)")
        }
        // Swift has a header of its own for the time of an object's removal.
        #expect(broken(report).contains("x-delete-at, unsigned") == (kind == .swift))
        #expect(report["leftBehind"].items.isEmpty)
        // Other runs share the bucket.
        let prefix = try #require(report["prefix"].text)
        #expect(prefix.hasPrefix("sluice-qualify/") && prefix.count > "sluice-qualify/".count)
        let list = try await bench.asOwner("GET", query: [.init("prefix", prefix)])
        #expect(list.status == 200 && !list.text.contains("<Key>"), "\(list.text)")
    }
}
