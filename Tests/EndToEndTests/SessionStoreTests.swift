import Foundation
import PostgresTesting
import TestSupport
import Testing

/// Temporary credentials of the gateway, used at a store by AWS's own SDK.
@Suite(.enabled(if: CephSTS.isExpected, "radosgw does not run; CONTRIBUTING.md says how to start it"))
struct SessionStoreTests {

    /// The conditions under which a session may download.
    private static let open: [String: JSON] = ["conditions": ["allowResponseContentType": true]]

    private static let script = """
        import json, sys, boto3
        from botocore.config import Config
        from botocore.exceptions import ClientError
        job = json.load(sys.stdin)
        c = job["credentials"]
        config = Config(s3={"addressing_style": "path"}, retries={"max_attempts": 1})
        s3 = boto3.client("s3", endpoint_url=job["endpoint"], region_name=job["region"], config=config,
            aws_access_key_id=c["accessKeyID"], aws_secret_access_key=c["secretAccessKey"],
            aws_session_token=c["sessionToken"])
        for operation, key in job["attempts"]:
            place = {"Bucket": job["bucket"], "Key": key}
            try:
                if operation == "put": answer = s3.put_object(Body=b"hello", **place)
                elif operation == "get": answer = s3.get_object(**place)
                elif operation == "delete": answer = s3.delete_object(**place)
                elif operation == "acl": answer = s3.put_object_acl(ACL="public-read", **place)
                elif operation == "list": answer = s3.list_objects_v2(Bucket=job["bucket"], Prefix=key)
                elif operation == "multipart":
                    upload = s3.create_multipart_upload(**place)["UploadId"]
                    part = s3.upload_part(UploadId=upload, PartNumber=1, Body=b"hello", **place)
                    s3.list_parts(UploadId=upload, **place)
                    answer = s3.complete_multipart_upload(UploadId=upload, MultipartUpload={
                        "Parts": [{"PartNumber": 1, "ETag": part["ETag"]}]}, **place)
                elif operation == "abort":
                    upload = s3.create_multipart_upload(**place)["UploadId"]
                    answer = s3.abort_multipart_upload(UploadId=upload, **place)
                print(answer["ResponseMetadata"]["HTTPStatusCode"])
            except ClientError as error:
                print(error.response["ResponseMetadata"]["HTTPStatusCode"])
        """

    /// The status that the store answers to each attempt.
    private func attempt(_ attempts: [(String, String)], with session: JSON, endpoint: String) throws -> [Int] {
        let job: JSON = [
            "credentials": session["credentials"], "endpoint": "\(endpoint)", "region": session["region"],
            "bucket": session["bucket"],
            "attempts": .array(attempts.map { .array([.string($0.0), .string($0.1)]) }),
        ]
        return try Python.run(Self.script, input: job.bytes).split(separator: "\n").compactMap { Int($0) }
    }

    private func session(_ user: User, _ body: JSON, in deployment: Deployment) async throws -> JSON {
        let answer = try await user.client.call("POST", "/v1/sts", body)
        try #require(answer.status == 201, "\(answer.text)")
        for name in ["secretAccessKey", "sessionToken"] {
            deployment.keepSecret(answer.json["credentials"][name].text ?? "")
        }
        return answer.json
    }

    @Test func `put and get inside the prefix, and nothing elsewhere or else`() async throws {
        try await CephSTS.with { store in
            let (deployment, bucket, endpoint) = (store.deployment, store.bucket, store.endpoint)
            let user = try await deployment.makeUser("alice")
            let base = UUID().uuidString.lowercased()
            try await deployment.grant(
                ["PutObject", "GetObject"], to: user.principal, in: bucket, prefix: "\(base)/", options: Self.open)
            let session = try await session(user, ["bucket": "\(bucket)", "prefix": "\(base)/in/"], in: deployment)
            let inside = "\(base)/in/é a.txt"
            let wide = try await self.session(user, ["bucket": "\(bucket)", "prefix": "\(base)/"], in: deployment)
            #expect(try attempt([("put", "\(base)/inx/a")], with: wide, endpoint: endpoint) == [200])
            let statuses = try attempt(
                [
                    ("put", inside), ("get", inside), ("multipart", "\(base)/in/parts"), ("abort", "\(base)/in/parts"),
                    ("put", "\(base)/in2"), ("put", "\(base)/other"), ("get", "\(base)/inx/a"), ("delete", inside),
                    ("acl", inside), ("list", "\(base)/in/"), ("put", "other/\(base)/in/a"), ("get", inside),
                ], with: session, endpoint: endpoint)
            #expect(statuses == [200, 200, 200, 204, 403, 403, 403, 403, 403, 403, 403, 200])
            var broken = session
            broken = broken.with([
                "credentials": session["credentials"].with(["secretAccessKey": "wrong"])
            ])
            #expect(try attempt([("get", inside)], with: broken, endpoint: endpoint) == [403])

            let reader = try await self.session(
                user, ["bucket": "\(bucket)", "prefix": "\(base)/in/", "actions": ["GetObject"]], in: deployment)
            #expect(try attempt([("get", inside), ("put", inside)], with: reader, endpoint: endpoint) == [200, 403])
        }
    }

    @Test func `a session lists and deletes inside its prefix, and nothing elsewhere`() async throws {
        try await CephSTS.with { store in
            let (deployment, bucket, endpoint) = (store.deployment, store.bucket, store.endpoint)
            let user = try await deployment.makeUser("alice")
            let base = UUID().uuidString.lowercased()
            try await deployment.grant(
                ["PutObject", "ListObjects", "DeleteObject"], to: user.principal, in: bucket, prefix: "\(base)/")
            let wide = try await session(user, ["bucket": "\(bucket)", "prefix": "\(base)/"], in: deployment)
            let keys = ["\(base)/in/a", "\(base)/in/b/c", "\(base)/inx"]
            #expect(try attempt(keys.map { ("put", $0) }, with: wide, endpoint: endpoint) == [200, 200, 200])
            let wanted: JSON = [
                "bucket": "\(bucket)", "prefix": "\(base)/in/", "actions": ["ListObjects", "DeleteObject"],
            ]
            let narrow = try await session(user, wanted, in: deployment)
            #expect(
                try attempt(
                    [
                        ("list", "\(base)/in/"), ("list", "\(base)/in/b"), ("list", "\(base)/"), ("list", "\(base)/in"),
                        ("list", ""), ("delete", "\(base)/inx"), ("delete", "\(base)/in/a"), ("put", "\(base)/in/a"),
                        ("get", "\(base)/in/b/c"),
                    ], with: narrow, endpoint: endpoint) == [200, 200, 403, 403, 403, 403, 204, 403, 403])
            let recorded = try await deployment.session().texts(
                """
                SELECT i.action || (SELECT count(*) FROM deletions d WHERE d.issuance_id = i.id) FROM issuances i
                WHERE i.delivery = 'sts' ORDER BY i.issued_at
                """)
            #expect(recorded == ["PutObject,ListObjects,DeleteObject1", "ListObjects,DeleteObject1"])
        }
    }

    @Test func `two prefixes and a deny inside one work as decided`() async throws {
        try await CephSTS.with { store in
            let (deployment, bucket, endpoint) = (store.deployment, store.bucket, store.endpoint)
            let user = try await deployment.makeUser("alice", groups: ["staff"])
            let base = UUID().uuidString.lowercased()
            try await deployment.grant(
                ["PutObject", "GetObject"], to: user.principal, in: bucket, prefix: "\(base)/a/", options: Self.open)
            try await deployment.grant(
                ["GetObject"], to: "group:staff", in: bucket, prefix: "\(base)/b/", options: Self.open)
            try await deployment.grant(
                ["PutObject"], to: "*", in: bucket, prefix: "\(base)/a/sealed/", options: ["effect": "deny"])
            let session = try await session(user, ["bucket": "\(bucket)", "prefix": "\(base)/"], in: deployment)
            let statuses = try attempt(
                [
                    ("put", "\(base)/a/x"), ("get", "\(base)/a/x"), ("put", "\(base)/a/sealed/x"),
                    ("put", "\(base)/b/x"), ("put", "\(base)/x"), ("put", "\(base)/a/sealed.txt"),
                    ("get", "\(base)/a/sealed.txt"),
                ], with: session, endpoint: endpoint)
            #expect(statuses == [200, 200, 403, 403, 403, 200, 200])
            let alive = try await deployment.admin.call("GET", "/admin/v1/issuances?alive=true")
            let row = try #require(alive.json["items"].items.first)
            #expect(row["delivery"].text == "sts" && row["key"].text == "\(base)/")
            #expect(row["expiresAt"].text == session["expiresAt"].text)
        }
    }

    @Test(arguments: [[" ", "+", "%20"], ["&", "=", "#"], ["é", "'", "~"]])
    func `a prefix is permitted or denied by its very characters`(marks: [String]) async throws {
        try await CephSTS.with { store in
            let (deployment, bucket, endpoint) = (store.deployment, store.bucket, store.endpoint)
            let user = try await deployment.makeUser("alice")
            let base = String(UUID().uuidString.lowercased().prefix(8))
            try await deployment.grant(["PutObject"], to: user.principal, in: bucket, prefix: "\(base)/open/")
            for mark in marks {
                try await deployment.grant(
                    ["PutObject"], to: user.principal, in: bucket, prefix: "\(base)/a\(mark)b/")
                try await deployment.grant(
                    ["PutObject"], to: user.principal, in: bucket, prefix: "\(base)/open/a\(mark)b/",
                    options: ["effect": "deny"])
            }
            let session = try await session(user, ["bucket": "\(bucket)", "prefix": "\(base)/"], in: deployment)
            let others = ["-", "_", "%2B", "%26", "*"]
            let statuses = try attempt(
                marks.flatMap { [("put", "\(base)/a\($0)b/x"), ("put", "\(base)/open/a\($0)b/x")] }
                    + others.flatMap { [("put", "\(base)/a\($0)b/x"), ("put", "\(base)/open/a\($0)b/x")] },
                with: session, endpoint: endpoint)
            #expect(statuses == marks.flatMap { _ in [200, 403] } + others.flatMap { _ in [403, 200] })
        }
    }

    @Test func `an SDK with nothing but a ticket in its URL is served until the ticket ends`() async throws {
        try await CephSTS.with { store in
            let (deployment, bucket, endpoint) = (store.deployment, store.bucket, store.endpoint)
            let user = try await deployment.makeUser("alice")
            let base = UUID().uuidString.lowercased()
            try await deployment.grant(
                ["PutObject", "GetObject"], to: user.principal, in: bucket, prefix: "\(base)/", options: Self.open)
            let made = try await user.client.call(
                "POST", "/v1/tickets",
                ["bucket": "\(bucket)", "prefix": "\(base)/in/", "actions": ["PutObject"], "maxUses": 3])
            let ticket = try #require(made.json["ticket"].text)
            deployment.keepSecret(ticket)
            let path = try #require(made.json["path"].text)
            let bare = deployment.client()
            // The SDK asks again when less than 300 s are left; until then it gets the same session.
            var tokens: Set<String> = []
            for _ in 0..<3 {
                let answer = try await bare.call("GET", path)
                #expect(answer.status == 200 && answer.json["StatusCode"].integer == 200, "\(answer.text)")
                #expect(answer["Cache-Control"] == "no-store")
                let expiration = try #require(answer.json["Expiration"].text)
                #expect(expiration.wholeMatch(of: /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ/) != nil)
                let end = try Date(expiration, strategy: .iso8601)
                #expect(end.timeIntervalSinceNow > 600)
                let token = try #require(answer.json["SecurityToken"].text)
                deployment.keepSecret(token)
                tokens.insert(token)
                let session: JSON = [
                    "credentials": [
                        "accessKeyID": answer.json["AccessKeyId"], "secretAccessKey": answer.json["AccessKeySecret"],
                        "sessionToken": .string(token),
                    ], "region": "default", "bucket": "\(bucket)",
                ]
                let statuses = try attempt(
                    [("put", "\(base)/in/a"), ("put", "\(base)/a"), ("get", "\(base)/in/a")], with: session,
                    endpoint: endpoint)
                #expect(statuses == [200, 403, 403])
            }
            #expect(tokens.count == 1)
            let used = try await bare.call("GET", path)
            #expect(used.status == 200 && used.json["StatusCode"].integer == 401, "\(used.text)")
            #expect(used.json["ErrorCode"].text == "ExpiredToken")

            let next = try await user.client.call("POST", "/v1/tickets", ["bucket": "\(bucket)", "prefix": "\(base)/"])
            let other = try #require(next.json["path"].text)
            deployment.keepSecret(next.json["ticket"].text ?? "")
            #expect(try await bare.call("GET", other).json["StatusCode"].integer == 200)
            let revoked = try await user.client.call("DELETE", "/v1/tickets/\(next.json["id"].text ?? "")")
            #expect(revoked.status == 204)
            let refused = try await bare.call("GET", other)
            #expect(refused.json["ErrorCode"].text == "Unauthenticated")
            #expect(try await deployment.number("SELECT count(*) FROM issuances WHERE delivery = 'sts'") == 4)
        }
    }

    private static let library = """
        import sys
        from alibabacloud_credentials.exceptions import CredentialException
        from alibabacloud_credentials.provider.uri import URLCredentialsProvider
        try: print(URLCredentialsProvider(uri=sys.argv[1]).get_credentials().get_access_key_id())
        except CredentialException: print("refused")
        """

    /// Runs Alibaba Cloud's credentials library on an address; returns its result without secrets.
    private func fetch(_ address: String) throws -> String {
        try Python.run(Self.library, arguments: [address])
    }

    @Test func `Alibaba's credentials library fetches them by a ticket, until the bucket forbids them`() async throws {
        try await CephSTS.with { store in
            let (deployment, bucket) = (store.deployment, store.bucket)
            let user = try await deployment.makeUser("alice")
            let base = UUID().uuidString.lowercased()
            try await deployment.grant(["PutObject"], to: user.principal, in: bucket, prefix: "\(base)/")
            let made = try await user.client.call(
                "POST", "/v1/tickets", ["bucket": "\(bucket)", "prefix": "\(base)/", "actions": ["PutObject"]])
            deployment.keepSecret(try #require(made.json["ticket"].text))
            let path = try #require(made.json["path"].text)
            let client = deployment.client()
            let answer = try await client.call("GET", path)
            let address = "http://127.0.0.1:\(client.port)\(path)"
            #expect(try fetch(address) == answer.json["AccessKeyId"].text)

            let row = try await deployment.admin.call("GET", "/admin/v1/buckets/\(bucket)")
            let changed = try await deployment.admin.call(
                "PATCH", "/admin/v1/buckets/\(bucket)", ["maxSessionTTL": 0],
                headers: [("If-Match", try #require(row["ETag"]))])
            try #require(changed.status == 200 && changed.json["maxSessionTTL"].integer == 0, "\(changed.text)")
            #expect(try fetch(address) == "refused")
            let refused = try await client.call("GET", path)
            #expect(refused.json["Code"].text == "NotEnforceable", "\(refused.text)")
            // Sessions issued earlier appear in the blast radius of their credential.
            let credential = try #require(row.json["credentialID"].text)
            let alive = try await deployment.admin.call(
                "GET", "/admin/v1/storage-credentials/\(credential)/blast-radius")
            #expect(alive.json["sessionCount"].integer == 1, "\(alive.text)")
            let session = try #require(alive.json["sessions"].items.first)
            #expect(session["principal"].text == user.principal && session["prefix"].text == "\(base)/")
            #expect(session["expiresAt"].text == answer.json["Expiration"].text)
        }
    }
}
