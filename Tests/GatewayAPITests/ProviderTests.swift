import Foundation
import HTTPServing
import HTTPTypes
import TestSupport
import Testing

@Suite("Buckets and credentials of each provider")
struct ProviderTests {
    private func created(_ path: String, _ body: [String: Any]) async throws -> TestAnswer {
        let json = String(decoding: try JSONSerialization.data(withJSONObject: body), as: UTF8.self)
        return await TestGateway().send(.post, "/admin/v1/" + path, token: "admin-token", json: json)
    }

    @Test(
        "have defaults that work",
        arguments: [
            ("aws", "eu-west-1", "https://s3.eu-west-1.amazonaws.com", "virtual", "aws-v4"),
            ("aws", "cn-north-1", "https://s3.cn-north-1.amazonaws.com.cn", "virtual", "aws-v4"),
            ("aws", "us-gov-west-1", "https://s3.us-gov-west-1.amazonaws.com", "virtual", "aws-v4"),
            ("aws", "eusc-de-east-1", "https://s3.eusc-de-east-1.amazonaws.eu", "virtual", "aws-v4"),
            ("aws", "us-iso-east-1", "https://s3.us-iso-east-1.c2s.ic.gov", "virtual", "aws-v4"),
            ("aws", "us-isob-east-1", "https://s3.us-isob-east-1.sc2s.sgov.gov", "virtual", "aws-v4"),
            ("aws", "eu-isoe-west-1", "https://s3.eu-isoe-west-1.cloud.adc-e.uk", "virtual", "aws-v4"),
            ("aws", "us-isof-south-1", "https://s3.us-isof-south-1.csp.hci.ic.gov", "virtual", "aws-v4"),
            ("oss", "cn-hangzhou", "https://oss-cn-hangzhou.aliyuncs.com", "virtual", "oss-v4"),
            ("gcs", nil, "https://storage.googleapis.com", "path", "gcs-v4-rsa"),
        ] as [(String, String?, String, String, String)])
    func defaults(provider: String, region: String?, endpoint: String, addressing: String, scheme: String) async throws
    {
        var body: [String: Any] = [
            "name": "photos", "provider": provider, "credentialID": StubPolicy.credentialID.uuidString,
        ]
        body["region"] = region
        let answer = try await created("buckets", body)
        #expect(answer.status == 201, "\(answer.text)")
        #expect(answer.string("endpoint") == endpoint)
        #expect(answer.string("region") == region ?? "auto")
        #expect(answer.string("addressing") == addressing)
        #expect(answer.string("scheme") == scheme)
        #expect(answer.json["allowsRedirects"] as? Bool == false)
    }

    @Test(
        "say what is missing or does not go together",
        arguments: [
            (["provider": "s3", "region": "r"], "endpoint"), (["provider": "aws"], "region"),
            (["provider": "oss"], "region"), (["provider": "oss", "region": "oss-cn-hangzhou"], "region"),
            (["provider": "gcs", "scheme": "aws-v4"], "scheme"), (["provider": "azure"], "provider"),
            (["provider": "aws", "region": "eu-west-1", "scheme": "oss-v4"], "scheme"),
            (["provider": "oss", "region": "cn-hangzhou", "addressing": "path"], "addressing"),
        ] as [([String: String], String)])
    func flaws(members: [String: String], field: String) async throws {
        let body = members.merging(["name": "photos", "credentialID": StubPolicy.credentialID.uuidString]) { $1 }
        let answer = try await created("buckets", body)
        #expect(answer.status == 400)
        #expect(answer.string("field") == field, "\(answer.text)")
    }

    @Test("a service account is taken as Google hands it out, and its key is never shown")
    func serviceAccount() async throws {
        let account: [String: Any] = [
            "type": "service_account", "project_id": "p", "private_key_id": "1", "private_key": TestKey.pem,
            "client_email": "signer@p.iam.gserviceaccount.com", "token_uri": "https://oauth2.googleapis.com/token",
        ]
        let answer = try await created("storage-credentials", ["name": "gcs", "serviceAccount": account])
        #expect(answer.status == 201, "\(answer.text)")
        #expect(answer.string("kind") == "service-account")
        #expect(answer.string("accessKeyID") == "signer@p.iam.gserviceaccount.com")
        #expect(!answer.text.contains("PRIVATE KEY"))
        for (name, value, field) in [
            ("private_key", "x", "serviceAccount.private_key"), ("client_email", "x", "serviceAccount.client_email"),
        ] {
            let changed = account.merging([name: value]) { $1 }
            let refused = try await created("storage-credentials", ["name": "gcs", "serviceAccount": changed])
            #expect(refused.status == 400)
            #expect(refused.string("field") == field)
            #expect(!refused.text.contains("PRIVATE KEY"))
        }
        let both = try await created(
            "storage-credentials", ["name": "gcs", "serviceAccount": account, "accessKeyID": "AKID"])
        #expect(both.string("field") == "accessKeyID")
    }

    @Test("a key pair of a CDN is taken with the name of its public key, and never shown")
    func keyPair() async throws {
        let pair: [String: Any] = ["id": "K2JCJMDEHXQW5F", "privateKey": TestKey.pem]
        let answer = try await created("storage-credentials", ["name": "cdn", "keyPair": pair])
        #expect(answer.status == 201, "\(answer.text)")
        #expect(answer.string("kind") == "key-pair" && answer.string("accessKeyID") == "K2JCJMDEHXQW5F")
        #expect(!answer.text.contains("PRIVATE KEY"))
        for (name, value, field) in [
            ("privateKey", "x", "keyPair.privateKey"), ("id", "K 2", "keyPair.id"), ("other", "x", "keyPair.other"),
        ] {
            let refused = try await created(
                "storage-credentials", ["name": "cdn", "keyPair": pair.merging([name: value]) { $1 }])
            #expect(refused.status == 400 && refused.string("field") == field, "\(refused.text)")
        }
    }

    @Test("a bucket names its CDN, and gives back what was written")
    func cdn() async throws {
        let gateway = TestGateway()
        func created(_ path: String, _ body: [String: Any]) async throws -> TestAnswer {
            let json = String(decoding: try JSONSerialization.data(withJSONObject: body), as: UTF8.self)
            return await gateway.send(.post, "/admin/v1/" + path, token: "admin-token", json: json)
        }
        let credential = try await created(
            "storage-credentials", ["name": "cdn", "accessKeyID": "main", "secretAccessKey": "shared-secret"])
        let id = try #require(credential.string("id"))
        let main = try await created(
            "storage-credentials", ["name": "main", "accessKeyID": "AKID", "secretAccessKey": "another-secret"])
        let mainID = try #require(main.string("id"))
        func bucket(_ name: String, _ signing: [String: Any]) -> [String: Any] {
            [
                "name": name, "provider": "aws", "region": "eu-west-1", "credentialID": mainID,
                "cdnSecret": "shared-secret",
                "publicEndpoints": ["cdn": ["url": "https://cdn.example", "signing": signing]],
            ]
        }
        let answer = try await created(
            "buckets",
            bucket("named", ["scheme": "alibaba-cdn-a", "credentialID": id, "validity": 60, "dropsParameters": true]))
        #expect(answer.status == 201, "\(answer.text)")
        let written =
            #""publicEndpoints":{"cdn":{"url":"https://cdn.example","signing":{"scheme":"alibaba-cdn-a","#
            + #""credentialID":"\#(id)","validity":60,"dropsParameters":true}}}"#
        #expect(answer.text.contains(written), "\(answer.text)")
        #expect(!answer.text.contains("shared-secret"))
        for (signing, field) in [
            (["scheme": "aws-v4"], "scheme"), (["scheme": "nginx-secure-link", "hash": "SHA-256"], "hash"),
            (["scheme": "cloudfront", "hash": "MD5"], "hash"),
            (["scheme": "alibaba-cdn-b", "validity": 0], "validity"),
            (["scheme": "cloudfront", "secret": "x"], "secret"), (["scheme": "cloudfront"], "credentialID"),
        ] as [([String: Any], String)] {
            let refused = try await created("buckets", bucket("others", signing.merging(["credentialID": id]) { $1 }))
            #expect(refused.status == 400, "\(refused.text)")
            #expect(refused.string("field") == "publicEndpoints.cdn.signing.\(field)", "\(refused.text)")
        }
    }

    @Test("a bucket names the encryption of its uploads, and a role the key of its sessions")
    func encryption() async throws {
        let gateway = TestGateway()
        func sent(
            _ method: HTTPRequest.Method, _ path: String, _ body: [String: Any]
        ) async throws -> TestAnswer {
            let json = String(decoding: try JSONSerialization.data(withJSONObject: body), as: UTF8.self)
            var headers = HeaderFields()
            if method == .patch { headers[.ifMatch] = "*" }
            return await gateway.send(method, "/admin/v1/" + path, token: "admin-token", headers: headers, json: json)
        }
        func credential(_ key: String) async throws -> TestAnswer {
            let role = [
                "roleARN": "arn:aws:iam::123456789012:role/app", "service": "aws", "region": "eu-west-1",
                "endpoint": "https://sts.eu-west-1.amazonaws.com", "kmsKeyARN": key,
            ]
            return try await sent(
                .post, "storage-credentials",
                ["name": "main", "accessKeyID": "AKID", "secretAccessKey": "secret", "sessionRole": role])
        }
        let alias = try await credential("arn:aws:kms:eu-west-1:123456789012:alias/photos")
        #expect(alias.status == 400 && alias.string("field") == "sessionRole.kmsKeyARN", "\(alias.text)")
        let made = try await credential("arn:aws:kms:eu-west-1:123456789012:key/mrk-1234")
        #expect(made.status == 201, "\(made.text)")
        #expect(made.text.contains(#""kmsKeyARN":"arn:aws:kms:eu-west-1:123456789012:key/mrk-1234"}"#), "\(made.text)")
        let id = try #require(made.string("id"))
        func bucket(_ encryption: [String: Any]) async throws -> TestAnswer {
            try await sent(
                .post, "buckets",
                [
                    "name": "encrypted", "provider": "aws", "region": "eu-west-1", "credentialID": id,
                    "secretAccessKey": "secret", "encryption": encryption,
                ])
        }
        for (encryption, field) in [
            (["algorithm": "KMS"], "algorithm"), (["algorithm": "none"], "algorithm"), (["keyID": "k"], "algorithm"),
            (["algorithm": "AES256", "keyID": "k"], "keyID"), (["algorithm": "AES256", "context": "e30="], "context"),
        ] {
            let refused = try await bucket(encryption)
            #expect(refused.status == 400 && refused.string("field") == "encryption.\(field)", "\(refused.text)")
        }
        let kept = try await bucket(["algorithm": "aws:kms", "keyID": "alias/photos"])
        #expect(kept.status == 201, "\(kept.text)")
        #expect(kept.text.contains(#""encryption":{"algorithm":"aws:kms","keyID":"alias/photos"}"#), "\(kept.text)")
        let changed = try await sent(.patch, "buckets/encrypted", ["encryption": ["keyID": NSNull()]])
        #expect(changed.text.contains(#""encryption":{"algorithm":"aws:kms"}"#), "\(changed.text)")
        let removed = try await sent(.patch, "buckets/encrypted", ["encryption": NSNull()])
        #expect(removed.status == 200 && !removed.text.contains("encryption"), "\(removed.text)")
    }
}
