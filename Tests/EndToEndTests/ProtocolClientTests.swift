import Foundation
import HTTPTesting
import TestSupport
import Testing

/// The AWS clients of today, with nothing but environment variables set, against a store that really verifies.
@Suite(
    .enabled(if: CephSTS.isExpected, "radosgw does not run; CONTRIBUTING.md says how to start it"),
    .timeLimit(.minutes(5)))
struct ProtocolClientTests {
    @Test func `boto3, the AWS CLI and rclone do inside their prefix what is granted, and nothing else`() async throws {
        try await AWSClients.with(["PutObject", "GetObject"]) { bench in
            let report = try await bench.run([["boto3", "container"]])
            var expected = AWSClients.expected
            expected["list"] = "403"
            expected["delete"] = "403"
            #expect(report == ["boto3 container": expected])
        }
        try await AWSClients.with { bench in
            let site = bench.deployment
            let report = try await bench.run(AWSClients.runs)
            #expect(report.count == AWSClients.runs.count)
            for (run, results) in report.sorted(by: { $0.key < $1.key }) {
                #expect(results == AWSClients.expected, "\(run)")
            }
            // Every credential is on record, under the principal of the key or of the token.
            let keys = try await site.number(
                "SELECT count(*) FROM issuances WHERE delivery = 'sts' AND principal = '\(bench.user.principal)'")
            let tokens = try await site.number(
                "SELECT count(*) FROM issuances WHERE delivery = 'sts' AND principal = '\(bench.tokenPrincipal)'")
            #expect(keys > 0 && tokens > 0)

            // Closed, every way ends at once, and sessions that were opened go on to their end.
            try await bench.setProtocols([])
            let closed = try await bench.run([["boto3", "container"], ["boto3", "web-identity"]])
            // The client may fail already when it is made.
            let container = closed["boto3 container"] ?? [:]
            #expect((container["put"] ?? container["failed"])?.contains("AccessDenied") == true, "\(closed)")
            #expect(closed["boto3 web-identity"]?["put"] == "403", "\(closed)")
        }
    }

    @Test func `sluice credentials prints version 1, and says why it prints nothing`() async throws {
        try await AWSClients.with { bench in
            func run(_ scope: String, key: String? = nil) async throws -> (status: Int32, output: JSON, errors: String)
            {
                let process = try RunningProcess(
                    [Program.path, "credentials", scope, "--format", "process"],
                    environment: [
                        "SLUICE_URL": bench.gateway, "SLUICE_KEY": key ?? bench.user.client.token,
                    ])
                let status = await process.exitStatus()
                return (status, (try? JSON(Array(process.output.utf8))) ?? .null, process.errors)
            }
            let good = try await run("\(bench.bucket)/\(bench.prefix)")
            #expect(good.status == 0 && good.output["Version"].integer == 1, "\(good.errors)")
            for name in ["AccessKeyId", "SecretAccessKey", "SessionToken"] {
                #expect(good.output[name].text?.isEmpty == false)
            }
            bench.deployment.keepSecret(good.output["SecretAccessKey"].text ?? "")
            bench.deployment.keepSecret(good.output["SessionToken"].text ?? "")
            let end = try Date(try #require(good.output["Expiration"].text), strategy: .iso8601)
            #expect(end.timeIntervalSinceNow > 900)
            let outside = try await run("\(bench.bucket)/other/")
            #expect(outside.status == 3 && outside.output == .null && outside.errors.contains("AccessDenied (403)"))
            let stranger = try await run("\(bench.bucket)/\(bench.prefix)", key: "wrong")
            #expect(stranger.status == 3 && stranger.errors.contains("Unauthenticated (401)"))
        }
    }

    @Test func `Uppy's form and its upload in parts reach the store`() async throws {
        try await AWSClients.with { bench in
            let made = try await bench.user.client.call(
                "POST", "/v1/tickets",
                ["bucket": "\(bench.bucket)", "prefix": "\(bench.prefix)", "actions": ["PutObject"]])
            let ticket = try #require(made.json["ticket"].text)
            bench.deployment.keepSecret(ticket)
            let bare = bench.deployment.client()
            let headers = [("Sluice-Bucket", bench.bucket), ("Sluice-Prefix", bench.prefix)]
            for (client, base, fields) in [
                (bare, "/companion/\(ticket)", []), (bench.user.client, "/companion", headers),
            ] {
                let form = try await client.call(
                    "GET", "\(base)/s3/params?filename=a.txt&type=text/plain", headers: fields)
                try #require(form.status == 200, "\(form.text)")
                var page = try Form(form.json)
                page.file = Array("hello".utf8)
                let sent = try await page.send()
                #expect(sent.status == 201, "\(sent.text)")
                let key = try #require(form.json["fields"]["key"].text)

                let started = try await client.call(
                    "POST", "\(base)/s3/multipart", ["filename": "b.bin", "type": "", "metadata": ["name": "ü"]],
                    headers: fields)
                try #require(started.status == 200, "\(started.text)")
                let id = try #require(started.json["uploadId"].text)
                let name = try #require(started.json["key"].text)
                let query = "key=" + name.replacing("/", with: "%2F")
                let link = try await client.call("GET", "\(base)/s3/multipart/\(id)/1?\(query)", headers: fields)
                let part = try await Link([
                    "method": "PUT", "url": link.json["url"], "headers": [:],
                ]).use([UInt8](repeating: 7, count: 1000))
                try #require(part.status == 200, "\(part.text)")
                let listed = try await client.call("GET", "\(base)/s3/multipart/\(id)?\(query)", headers: fields)
                #expect(listed.json.items.first?["Size"].integer == 1000, "\(listed.text)")
                let parts: JSON = [["PartNumber": 1, "ETag": "\(try #require(part["ETag"]))"]]
                let done = try await client.call(
                    "POST", "\(base)/s3/multipart/\(id)/complete?\(query)", ["parts": parts], headers: fields)
                try #require(done.status == 200, "\(done.text)")
                #expect(done.json["location"].text == "\(bench.endpoint)/\(bench.bucket)/\(name)")
                for (key, length) in [(key, "5"), (name, "1000")] {
                    let link = try await bench.user.ask(.download(key, from: bench.bucket))
                    let got = try await Link(link.json).use()
                    #expect(got.status == 200 && "\(got.body.count)" == length, "\(key)")
                }
            }
            try await bench.setProtocols([])
            let closed = try await bare.call("GET", "/companion/\(ticket)/s3/params?filename=a.txt")
            #expect(closed.status == 403 && closed.code == "AccessDenied")
            let requestID = try #require(closed.json["requestID"].text)
            let row = try await bench.deployment.admin.call("GET", "/admin/v1/requests/\(requestID)")
            #expect(row.text.contains("protocolClosed") && row.text.contains("uppy-companion"), "\(row.text)")
        }
    }
}

/// A gateway with an issuer, a user with a key, and a bucket at radosgw that opens the protocols.
private struct AWSClients: Sendable {
    let deployment: Deployment
    let bucket: String
    let endpoint: String
    let prefix: String
    let user: User
    let token: String
    let tokenPrincipal: String

    var gateway: String { "http://127.0.0.1:\(user.client.port)" }

    /// Clients, and the ways to their credentials.
    static let runs: [[String]] = [
        ["boto3", "container"], ["boto3", "container-file"], ["boto3", "container-bare"], ["boto3", "web-identity"],
        ["boto3", "process"], ["cli", "container"], ["cli", "web-identity"], ["rclone", "container"],
        ["rclone", "web-identity"],
    ]

    /// The result of each operation, where all of them are granted inside the prefix.
    static let expected: [String: String] = [
        "put": "ok", "get": "ok", "multipart": "ok", "list": "ok", "listAll": "403", "outside": "403", "delete": "ok",
    ]

    static func with(
        _ actions: [String] = ["PutObject", "GetObject", "ListObjects", "DeleteObject"],
        _ body: @Sendable (AWSClients) async throws -> Void
    ) async throws {
        let protocols = ["aws-container-credentials", "aws-web-identity", "uppy-companion"]
        try await CephSTS.with(protocols: protocols) { store in
            let (deployment, bucket) = (store.deployment, store.bucket)
            let key = TokenKey("ES256")
            let jwk = try JSON(Array(#"{"kid":"first","alg":"ES256",\#(key.members)}"#.utf8))
            try await deployment.create(
                "issuers",
                [
                    "issuer": "https://id.example", "audiences": ["sluice"], "algorithms": ["ES256"],
                    "principalPrefix": "id:", "groupPrefix": "id:", "keys": ["inline": ["keys": [jwk]]],
                ])
            let user = try await deployment.makeUser("alice")
            let prefix = "\(UUID().uuidString.lowercased())/in/"
            for principal in [user.principal, "user:id:bob"] {
                try await deployment.grant(
                    actions, to: principal, in: bucket, prefix: prefix,
                    options: ["conditions": ["allowResponseContentType": true]])
            }
            let claims: JSON = [
                "iss": "https://id.example", "aud": "sluice", "sub": "bob",
                "exp": .number(Int(Date().timeIntervalSince1970) + 3600),
            ]
            let head: JSON = ["alg": "ES256", "typ": "JWT", "kid": "first"]
            let text = TokenKey.base64URL(try head.bytes) + "." + TokenKey.base64URL(try claims.bytes)
            let token = text + "." + TokenKey.base64URL(key.signature(of: Array(text.utf8)))
            deployment.keepSecret(token)
            try await body(
                AWSClients(
                    deployment: deployment, bucket: bucket, endpoint: store.endpoint, prefix: prefix, user: user,
                    token: token,
                    tokenPrincipal: "user:id:bob"))
        }
    }

    func setProtocols(_ names: [String]) async throws {
        let row = try await deployment.admin.call("GET", "/admin/v1/buckets/\(bucket)")
        let changed = try await deployment.admin.call(
            "PATCH", "/admin/v1/buckets/\(bucket)", ["protocols": .array(names.map { .string($0) })],
            headers: [("If-Match", try #require(row["ETag"]))])
        try #require(changed.status == 200, "\(changed.text)")
    }

    /// Runs clients; returns what each operation of each came to.
    func run(_ runs: [[String]]) async throws -> [String: [String: String]] {
        let script = try #require(Bundle.module.url(forResource: "ProtocolClients/aws", withExtension: "py"))
        let job: JSON = [
            "gateway": "\(gateway)", "endpoint": "\(endpoint)", "bucket": "\(bucket)", "prefix": "\(prefix)",
            "region": "\(CephSTS.value("RADOSGW_REGION") ?? "")", "key": "\(user.client.token)", "token": "\(token)",
            "sluice": "\(Program.path)",
            "runs": .array(runs.map { .array($0.map { .string($0) }) }),
        ]
        let file = FileManager.default.temporaryDirectory.appending(path: "sluice-job-\(UUID().uuidString)")
        try Data(job.bytes).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        let process = try RunningProcess(
            [try Python.path, script.path, file.path], environment: [:])
        let status = await process.exitStatus()
        try #require(status == 0, "\(process.errors.suffix(4000))")
        return try JSONDecoder().decode([String: [String: String]].self, from: Data(process.output.utf8))
    }
}
