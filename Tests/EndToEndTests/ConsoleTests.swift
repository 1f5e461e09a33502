import Foundation
import HTTPTesting
import Signing
import TestSupport
import Testing

/// The console in a real browser, with the running program, a store and an OpenID provider.
///
/// `Console` drives the browser. Its steps share one browser and one deployment.
@Suite(.timeLimit(.minutes(15)))
struct ConsoleTests {
    /// What the steps found.
    private struct Report: Decodable {
        struct Step: Decodable {
            let name: String
            let seconds: Double
            let problems: [String]
        }

        let steps: [Step]
        /// Keys that were made on the way.
        let secrets: [String]
    }

    @Test func `people enter the console, read each view and change rows, and are refused what is not theirs`()
        async throws
    {
        try Browser.require()
        let environment = ProcessInfo.processInfo.environment
        let python = try Python.path
        let folder = try #require(Bundle.module.url(forResource: "Console", withExtension: nil))
        let provider = try await SignInTests.Provider(["--origin", "*"])
        // The provider has a second name, which makes it another issuer.
        let names = [provider.name, provider.name.replacing("127.0.0.1", with: "localhost")]
        let reachable = ([StoreKind.radosgw.value("ENDPOINT") ?? ""] + names).joined(separator: ",")
        try await StoreBench.with(.radosgw, settings: ["SLUICE_OUTBOUND_ALLOW": reachable]) { bench in
            let site = bench.deployment
            let origin = "http://127.0.0.1:\(site.gateways[0].port)"
            let bucket = "console-\(UUID().uuidString.prefix(8).lowercased())"
            // The second is added to the gateway by hand.
            for name in [bucket, "\(bucket)-new"] {
                let made = try await bench.asOwner("PUT", in: name)
                try #require(made.status == 200, "\(made.text)")
            }
            try await bench.allowCrossOrigin(origin, in: bucket)
            try await site.makeBucket(
                bucket, endpoint: bench.endpoint, region: bench.region, accessKeyID: bench.credential.accessKeyID,
                secretAccessKey: bench.credential.secretAccessKey, options: ["allowsRedirects": true])
            var order: JSON = [
                "origin": "\(origin)", "key": "\(site.admin.token)", "bucket": "\(bucket)",
                "store": "\(bench.endpoint)", "provider": "\(provider.name)", "chromium": "\(Browser.path)",
                "newBucket": "\(bucket)-new", "region": "\(bench.region)",
                "accessKeyID": "\(bench.credential.accessKeyID)",
                "secretAccessKey": "\(bench.credential.secretAccessKey)",
            ]
            if let pictures = environment["SLUICE_TEST_PICTURES"] { order["pictures"] = .string(pictures) }
            let process = try RunningProcess(
                [
                    python, "-B", folder.appending(path: "console.py").path(percentEncoded: false),
                    String(decoding: try order.bytes, as: UTF8.self),
                ],
                environment: [:])
            let status = await process.exitStatus()
            try #require(status == 0, "\(process.errors)")
            let report = try JSONDecoder().decode(Report.self, from: Data(process.output.utf8))
            for secret in report.secrets { site.keepSecret(secret) }
            for step in report.steps {
                let problems = step.problems.joined(separator: "\n")
                #expect(step.problems.isEmpty, "\(step.name), after \(step.seconds) s:\n\(problems)")
            }
            #expect(report.steps.count > 50, "all steps were taken")
        }
    }
}
