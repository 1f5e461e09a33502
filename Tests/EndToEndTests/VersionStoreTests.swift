import Foundation
import HTTPTesting
import TestSupport
import Testing

/// Former versions of objects at a store that keeps them.
@Suite(.enabled(if: StoreKind.radosgw.isExpected, "radosgw does not run; CONTRIBUTING.md says how to start it"))
struct VersionStoreTests {
    private static let script = """
        import json, sys, boto3
        from botocore.config import Config
        from botocore.exceptions import ClientError
        job = json.load(sys.stdin)
        s3 = boto3.client("s3", endpoint_url=job["endpoint"], region_name=job["region"],
            config=Config(s3={"addressing_style": "path"}, retries={"max_attempts": 1}),
            aws_access_key_id=job["accessKeyID"], aws_secret_access_key=job["secretAccessKey"],
            aws_session_token=job.get("sessionToken"))
        bucket, key, answer = job["bucket"], job["key"], {}
        if "versionId" in job:
            for name, place in [("newest", {}), ("older", {"VersionId": job["versionId"]})]:
                try:
                    answer[name] = s3.get_object(Bucket=bucket, Key=key, **place)["Body"].read().decode()
                except ClientError as error:
                    answer[name] = str(error.response["ResponseMetadata"]["HTTPStatusCode"])
        else:
            s3.create_bucket(Bucket=bucket)
            s3.put_bucket_versioning(Bucket=bucket, VersioningConfiguration={"Status": "Enabled"})
            answer["older"] = s3.put_object(Bucket=bucket, Key=key, Body=b"older")["VersionId"]
            answer["newest"] = s3.put_object(Bucket=bucket, Key=key, Body=b"newest")["VersionId"]
        print(json.dumps(answer))
        """

    private static func value(_ name: String) throws -> String {
        try #require(ProcessInfo.processInfo.environment["SLUICE_TEST_" + name], "SLUICE_TEST_\(name)")
    }

    /// The report of the store's own SDK.
    private func run(_ job: JSON) throws -> JSON {
        try JSON(Array(Python.run(Self.script, input: job.bytes).utf8))
    }

    @Test func `are read by links and redirects under grants that allow it, and by no session`() async throws {
        let sts = try Self.value("RADOSGW_STS_ENDPOINT")
        let endpoint = try Self.value("RADOSGW_ENDPOINT")
        try await Deployment.with(settings: ["SLUICE_OUTBOUND_ALLOW": sts]) { deployment in
            let (accessKeyID, secret) = (try Self.value("RADOSGW_ACCESS_KEY"), try Self.value("RADOSGW_SECRET_KEY"))
            let (region, key) = (try Self.value("RADOSGW_REGION"), "team/a.txt")
            let bucket = "versions-\(UUID().uuidString.lowercased())"
            deployment.keepSecret(secret)
            let versions = try run([
                "endpoint": "\(endpoint)", "region": "\(region)", "accessKeyID": "\(accessKeyID)",
                "secretAccessKey": "\(secret)", "bucket": "\(bucket)", "key": "\(key)",
            ])
            let older = try #require(versions["older"].text)
            try await deployment.makeBucket(
                bucket, endpoint: endpoint, region: region, accessKeyID: accessKeyID, secretAccessKey: secret,
                options: ["allowsRedirects": true])
            let user = try await deployment.makeUser("alice")
            let open: JSON = ["allowResponseContentType": true]
            let grant = try await deployment.grant(
                ["GetObject"], to: user.principal, in: bucket, options: ["conditions": open])
            let newest = JSON.download(key, from: bucket)
            let wanted = newest.with(["versionID": "\(older)"])
            let path = "/v1/objects/\(bucket)/\(key)?versionID=\(older)"

            // Without the condition.
            let refused = try await user.ask(wanted)
            #expect(refused.status == 403 && refused.json["condition"].text == "allowVersions", "\(refused.text)")
            #expect(try await user.client.call("GET", path).status == 403)
            let batch = try await user.client.call(
                "POST", "/v1/presigned-urls/batch", ["items": [wanted, newest]])
            #expect(batch.json["results"].items.map { $0["status"].integer } == [403, nil], "\(batch.text)")
            let plain = try await link(newest, of: user, in: deployment)
            #expect(try await plain.use().text == "newest")
            // The version is signed: nobody can add one, or another.
            var added = plain
            added.url += "&versionId=\(older)"
            #expect(try await added.use().status == 403)

            // With the condition.
            try await deployment.delete("grants", grant)
            try await deployment.grant(
                ["GetObject"], to: user.principal, in: bucket,
                options: ["conditions": open.with(["allowVersions": true])])
            let versioned = try await link(wanted, of: user, in: deployment)
            #expect(try await versioned.use().text == "older")
            var changed = versioned
            changed.url = changed.url.replacing(older, with: try #require(versions["newest"].text))
            #expect(try await changed.use().status == 403)
            let redirect = try await user.client.call("GET", path)
            #expect(redirect.status == 303, "\(redirect.text)")
            let location = try #require(redirect["Location"])
            deployment.keepSecret(location)
            #expect(try await Link(["method": "GET", "url": "\(location)"]).use().text == "older")

            let session = try await session(in: deployment, sts, bucket: bucket, for: user)
            let read = try run(
                session.with([
                    "endpoint": "\(sts)", "region": "\(region)", "bucket": "\(bucket)", "key": "\(key)",
                    "versionId": "\(older)",
                ]))
            #expect(read["newest"].text == "newest" && read["older"].text == "403", "\(read)")
        }
    }

    private func link(_ request: JSON, of user: User, in deployment: Deployment) async throws -> Link {
        let answer = try await user.ask(request)
        try #require(answer.status == 201, "\(answer.text)")
        deployment.keepSecret(urlOf: answer)
        return try Link(answer.json)
    }

    /// Issues credentials that may read everything in a bucket, at the store's port for sessions.
    private func session(
        in deployment: Deployment, _ sts: String, bucket: String, for user: User
    ) async throws -> JSON {
        let rows = try await deployment.admin.call("GET", "/admin/v1/storage-credentials")
        let credential = try #require(rows.json["items"].items.first)
        let id = try #require(credential["id"].text)
        let read = try await deployment.admin.call("GET", "/admin/v1/storage-credentials/\(id)")
        let role: JSON = [
            "roleARN": "\(try Self.value("RADOSGW_ROLE"))", "service": "aws", "endpoint": "\(sts)",
            "region": "\(try Self.value("RADOSGW_REGION"))",
        ]
        let changed = try await deployment.admin.call(
            "PATCH", "/admin/v1/storage-credentials/\(id)",
            ["sessionRole": role, "secretAccessKey": "\(try Self.value("RADOSGW_SECRET_KEY"))"],
            headers: [("If-Match", read["ETag"] ?? "")])
        try #require(changed.status == 200, "\(changed.text)")
        let answer = try await user.client.call("POST", "/v1/sts", ["bucket": "\(bucket)", "actions": ["GetObject"]])
        try #require(answer.status == 201, "\(answer.text)")
        for name in ["secretAccessKey", "sessionToken"] {
            deployment.keepSecret(answer.json["credentials"][name].text ?? "")
        }
        return answer.json["credentials"]
    }
}
