import Foundation
import TestSupport
import Testing

/// Links and forms for stores that cannot run here. They must equal those that the stores' own SDKs for Python make of
/// the same request at the same instant; `StoreSDKs` makes and compares them.
@Suite(.python(with: "the SDKs"), .timeLimit(.minutes(3)))
struct StoreSDKTests {
    @Test("links and forms for Alibaba OSS are those of oss2 and alibabacloud-oss-v2")
    func oss() async throws {
        let addresses = [
            ("virtual", "https://oss-cn-hangzhou.aliyuncs.com"), ("path", "https://203.0.113.7:8443"),
            ("cname", "https://img.shop.example"),
        ]
        var buckets: [StoreSDK.Bucket] = []
        for scheme in ["oss-v4", "oss-v1"] {
            for (addressing, endpoint) in addresses {
                for token in [nil, "CAIS+/=token~*'()"] {
                    buckets.append(
                        StoreSDK.Bucket(
                            provider: "oss", scheme: scheme, endpoint: endpoint, region: "cn-hangzhou",
                            addressing: addressing, sessionToken: token))
                }
            }
        }
        buckets[0].maxTTL = 3600
        let report = try await StoreSDK.report(on: buckets)
        #expect(report.agreed.keys.sorted() == ["oss-v1", "oss-v4"])
        #expect(report.forms.keys.sorted() == ["oss-v1", "oss-v4"])
    }

    @Test("links and forms for Google Cloud Storage are those of google-cloud-storage, and of boto3 for its S3 side")
    func gcs() async throws {
        let (endpoint, own) = ("https://storage.googleapis.com", "https://cdn.shop.example")
        func bucket(
            _ scheme: String, _ addressing: String, region: String = "auto", provider: String = "gcs"
        ) -> StoreSDK.Bucket {
            StoreSDK.Bucket(
                provider: provider, scheme: scheme, endpoint: addressing == "cname" ? own : endpoint, region: region,
                addressing: addressing, isAccount: scheme.hasSuffix("-rsa"))
        }
        var buckets: [StoreSDK.Bucket] = []
        for scheme in ["gcs-v4-rsa", "gcs-v4-hmac", "gcs-v2-rsa"] {
            for addressing in ["path", "virtual", "cname"] { buckets.append(bucket(scheme, addressing)) }
        }
        buckets[0].maxTTL = 3600
        buckets.append(bucket("gcs-v4-rsa", "path", region: "europe-west6"))
        buckets.append(bucket("gcs-v4-hmac", "path", region: "europe-west6"))
        for scheme in ["aws-v4", "aws-v2"] {
            for addressing in ["path", "virtual"] { buckets.append(bucket(scheme, addressing, provider: "s3")) }
        }
        let report = try await StoreSDK.report(on: buckets)
        #expect(report.agreed.keys.sorted() == ["aws-v2", "aws-v4", "gcs-v2-rsa", "gcs-v4-hmac", "gcs-v4-rsa"])
        #expect(report.forms.keys.sorted() == ["aws-v4", "gcs-v4-hmac", "gcs-v4-rsa"])
        let atGoogle = report.agreed.filter { $0.key.hasPrefix("gcs") }.values.reduce(0, +)
        #expect(atGoogle >= 200)
    }
}

/// Compares what a gateway issues with what the stores' own SDKs make.
enum StoreSDK {
    /// A bucket at a store that cannot run here.
    struct Bucket {
        var provider: String
        var scheme: String
        var endpoint: String
        var region: String
        var addressing: String
        var sessionToken: String?
        var isAccount = false
        var maxTTL = 604_800
    }

    /// The result of a comparison.
    struct Report: Decodable {
        /// Number of links that agreed, by scheme.
        let agreed: [String: Int]
        /// Number of forms that agreed, by scheme.
        let forms: [String: Int]
        /// Number of altered answers, by the altered part.
        let mutations: [String: Int]
        private let differences: [JSON]
        private let unnoticed: [JSON]

        fileprivate func expectAgreement(_ seed: UInt64) throws {
            let (found, missed) = (try Self.text(differences), try Self.text(unnoticed))
            #expect(differences.count == 0, "SLUICE_TEST_SEED=\(seed) \(found)")
            #expect(unnoticed.count == 0, "a changed answer agreed, SLUICE_TEST_SEED=\(seed) \(missed)")
        }

        private static func text(_ rows: [JSON]) throws -> String {
            String(decoding: try JSON.array(Array(rows.prefix(5))).bytes, as: UTF8.self)
        }
    }

    private static let environment = ProcessInfo.processInfo.environment

    /// A private key in the form in which Google issues it with a service account.
    private static func newAccountKey(_ python: String) async throws -> String {
        let program = """
            from cryptography.hazmat.primitives import serialization
            from cryptography.hazmat.primitives.asymmetric import rsa
            print(rsa.generate_private_key(65537, 2048).private_bytes(serialization.Encoding.PEM,
                serialization.PrivateFormat.PKCS8, serialization.NoEncryption()).decode(), end="")
            """
        let process = try RunningProcess([python, "-c", program], environment: [:])
        try #require(await process.exitStatus() == 0, "\(process.errors)")
        return process.output
    }

    /// Asks a gateway for links and forms for each bucket. Expects all of them to equal those of the SDKs, and none of
    /// them to do so after an alteration.
    static func report(on buckets: [Bucket]) async throws -> Report {
        let python = try Python.path
        let script = try #require(
            Bundle.module.url(forResource: "StoreSDKs/compare", withExtension: "py"), "the script is a resource")
        let seed = environment["SLUICE_TEST_SEED"].flatMap(UInt64.init) ?? .random(in: 0..<1 << 32)
        let links = environment["SLUICE_TEST_LINKS"].flatMap(Int.init) ?? 24
        let accountKey = buckets.contains(where: \.isAccount) ? try await newAccountKey(python) : ""
        return try await Deployment.with { deployment in
            let user = try await deployment.makeUser("alice")
            var rows: [JSON] = []
            for (index, bucket) in buckets.enumerated() {
                rows.append(try await deployment.make(bucket, "bucket-\(index)", for: user, accountKey: accountKey))
            }
            let order: JSON = [
                "origin": "http://127.0.0.1:\(user.client.port)", "token": "\(user.client.token)",
                "seed": .number(Int(seed)), "count": .number(links), "buckets": .array(rows),
            ]
            let argument = String(decoding: try order.bytes, as: UTF8.self)
            let process = try RunningProcess(
                [python, "-B", script.path(percentEncoded: false), argument], environment: [:])
            let status = await process.exitStatus()
            try #require(status == 0, "SLUICE_TEST_SEED=\(seed): \(process.errors)")
            let report = try JSONDecoder().decode(Report.self, from: Data(process.output.utf8))
            try report.expectAgreement(seed)
            let changed = [
                "path", "host", "a raw plus", "header content-type", "a header less", "field policy", "expiresAt",
            ]
            #expect(changed.allSatisfy { report.mutations[$0] ?? 0 > 0 }, "\(report.mutations)")
            return report
        }
    }
}

extension Deployment {
    /// Makes a bucket with a credential and a user's grants; returns it with everything that signing needs.
    fileprivate func make(_ bucket: StoreSDK.Bucket, _ name: String, for user: User, accountKey: String) async throws
        -> JSON
    {
        var row: JSON = [
            "name": "\(name)", "provider": "\(bucket.provider)", "scheme": "\(bucket.scheme)",
            "endpoint": "\(bucket.endpoint)", "region": "\(bucket.region)", "addressing": "\(bucket.addressing)",
            "maxTTL": .number(bucket.maxTTL), "defaultTTL": 600,
        ]
        let secret = bucket.isAccount ? accountKey : "secret/+=\(UUID().uuidString)"
        keepSecret(secret)
        var credential: JSON = ["name": "for \(name)"]
        var known: [String: JSON] = ["secretAccessKey": "\(secret)"]
        if bucket.isAccount {
            credential["serviceAccount"] = [
                "client_email": "signer@project.iam.gserviceaccount.com", "private_key": "\(secret)",
            ]
            known["email"] = "signer@project.iam.gserviceaccount.com"
        } else {
            known["accessKeyID"] = "GOOG1EXAMPLE\(name.uppercased())"
            known["sessionToken"] = bucket.sessionToken.map { .string($0) } ?? .null
            credential = credential.with(known)
        }
        row["credentialID"] = try await create("storage-credentials", credential)["id"]
        try await create("buckets", row)
        try await grant(
            ["PutObject", "GetObject", "ListObjects", "DeleteObject"], to: user.principal, in: name,
            options: ["conditions": ["allowResponseContentType": true, "allowVersions": true]])
        try await grant(
            ["PutObject"], to: user.principal, in: name, prefix: "limited/",
            options: ["conditions": ["maxBytes": .number(1 << 20), "maxTTL": 300]])
        return row.with(known)
    }
}
