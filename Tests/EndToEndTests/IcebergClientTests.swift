import Foundation
import Signing
import TestSupport
import Testing

private let icebergPython = ProcessInfo.processInfo.environment["SLUICE_TEST_ICEBERG_PYTHON"]
private let isExpected = icebergPython != nil || Surroundings.areRequired

/// PyIceberg against a store that really verifies, with every request signed by the gateway.
@Suite(
    .enabled(if: isExpected, "SLUICE_TEST_ICEBERG_PYTHON names no Python that has PyIceberg"),
    .timeLimit(.minutes(3)))
struct IcebergClientTests {
    @Test("a table is written, read and changed inside the grant, and no other")
    func table() async throws {
        let python = try #require(icebergPython, "SLUICE_TEST_ICEBERG_PYTHON is required here")
        let script = try #require(
            Bundle.module.url(forResource: "ProtocolClients/iceberg", withExtension: "py"), "the script is a resource")
        try await StoreBench.with(.radosgw, options: ["protocols": ["aws-remote-signing"]]) { bench in
            let site = bench.deployment
            let folder = FileManager.default.temporaryDirectory.appending(path: "sluice-ice-\(UUID().uuidString)")
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            defer { try? FileManager.default.removeItem(at: folder) }
            let prefix = "ice/\(UUID().uuidString)"
            let user = try await site.makeUser("analyst")
            let stranger = try await site.makeUser("mallory")
            try await site.grant(
                ["PutObject", "GetObject", "ListObjects", "DeleteObject"], to: user.principal, in: bench.bucket,
                prefix: prefix + "/")
            let gateway = try #require(site.gateways.first).port
            let job: JSON = [
                "folder": "\(folder.path(percentEncoded: false))", "gateway": "http://127.0.0.1:\(gateway)",
                "bucket": "\(bench.bucket)", "prefix": "\(prefix)", "endpoint": "\(bench.endpoint)",
                "region": "\(bench.region)", "key": "\(user.client.token)", "stranger": "\(stranger.client.token)",
                "accessKeyID": "\(bench.credential.accessKeyID)",
                "secretAccessKey": "\(bench.credential.secretAccessKey)",
            ]
            let process = try RunningProcess(
                [python, script.path(percentEncoded: false), String(decoding: try job.bytes, as: UTF8.self)],
                environment: [:])
            let status = await process.exitStatus()
            try #require(status == 0, "\(process.errors)")
            let report = try JSON(Array(process.output.utf8))
            #expect(report["table"]["rows"].integer == 1010 && report["table"]["equal"] == true, "\(report)")
            #expect(report["table"]["left"].integer == 510, "\(report)")
            for refusal in ["outside", "stranger"] {
                #expect(report[refusal].text?.contains("403") == true, "\(report)")
            }
            #expect(
                report["oracle"]["compared"].integer == 8 && report["oracle"]["differences"].items.isEmpty, "\(report)")
            let foreign = try await site.number(
                "SELECT count(*) FROM issuances WHERE delivery = 'remote-signature' AND object_key NOT LIKE '\(prefix)%'"
            )
            let own = try await site.number("SELECT count(*) FROM issuances WHERE delivery = 'remote-signature'")
            #expect(foreign == 0 && own > 10)
        }
    }
}
