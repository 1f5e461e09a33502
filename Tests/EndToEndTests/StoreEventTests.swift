import Foundation
import HTTPTesting
import Signing
import TestSupport
import Testing

/// Notifications that radosgw itself sends about uploads by links of the gateway.
@Suite(.storeBenches) struct StoreEventTests {
    /// Makes a bucket whose notifications go to an address.
    private static let script = """
        import json, sys, boto3
        from botocore.client import Config
        job = json.load(sys.stdin)
        keys = dict(aws_access_key_id=job["accessKey"], aws_secret_access_key=job["secretKey"], region_name=job["region"],
                    endpoint_url=job["endpoint"])
        topics = boto3.client("sns", config=Config(signature_version="s3"), **keys)
        store = boto3.client("s3", config=Config(s3={"addressing_style": "path"}), **keys)
        topic = topics.create_topic(Name=job["bucket"], Attributes={"push-endpoint": job["address"]})["TopicArn"]
        store.create_bucket(Bucket=job["bucket"])
        store.put_bucket_notification_configuration(Bucket=job["bucket"], NotificationConfiguration={
            "TopicConfigurations": [{"Id": "all", "TopicArn": topic, "Events": ["s3:ObjectCreated:*", "s3:ObjectRemoved:*"]}]})
        print("done")
        """

    private func run(_ job: JSON) throws -> String {
        try Surroundings.require(
            Python.isAvailable, orElse: "SLUICE_TEST_PYTHON names no Python that has boto3")
        return try Python.run(Self.script, input: job.bytes)
    }

    @Test("an upload that nobody confirms is known by the store's own word")
    func notified() async throws {
        let bench = try StoreBench.at(.radosgw)
        let (deployment, keys) = (bench.deployment, bench.credential)
        let bucket = try await deployment.makeBucket(
            "events-\(UUID().uuidString.lowercased())", endpoint: bench.endpoint, region: bench.region,
            accessKeyID: keys.accessKeyID, secretAccessKey: keys.secretAccessKey)
        try await deployment.grant(["PutObject"], to: bench.user.principal, in: bucket)
        let path = "/admin/v1/buckets/\(bucket)/event-secret"
        let made = try await deployment.admin.call("POST", path, ["overlapSeconds": 0])
        let secret = try #require(made.json["secret"].text, "\(made.text)")
        deployment.keepSecret(secret)
        let port = deployment.gateways[0].port
        let job: JSON = [
            "accessKey": "\(keys.accessKeyID)", "secretKey": "\(keys.secretAccessKey)", "region": "\(bench.region)",
            "endpoint": "\(bench.endpoint)", "bucket": "\(bucket)",
            "address": "http://127.0.0.1:\(port)/v1/events/s3?secret=\(secret)",
        ]
        try #require(try run(job) == "done")
        var ids: [String] = []
        for key in ["a b+c%20ü/x.bin", "never.bin"] {
            let answer = try await bench.user.ask(.upload(key, to: bucket))
            deployment.keepSecret(urlOf: answer)
            ids.append(try #require(answer.json["id"].text))
            guard key != "never.bin" else { break }
            // The store answers the upload after it has notified the gateway.
            #expect(try await Link(answer.json).use(Array("12345".utf8)).status == 200)
        }
        let list = "/admin/v1/uploads?bucket=\(bucket)"
        let landed = try await deployment.admin.call("GET", list + "&state=landed").json["items"].items
        #expect(landed.map { $0["id"].text } == [ids[0]])
        #expect(landed.first?["source"] == "event" && landed.first?["size"] == 5)
        let issued = try await deployment.admin.call("GET", list + "&state=issued").json["items"].items
        #expect(issued.map { $0["id"].text } == [ids[1]])
        let confirmed = try await deployment.admin.call("POST", "/admin/v1/uploads/\(ids[0]):confirm")
        #expect(confirmed.json["state"] == "landed" && confirmed.json["source"] == "confirmation", "\(confirmed.text)")
        // Without the secret nothing is accepted, however long the body is.
        let client = deployment.client()
        #expect(try await client.call("POST", "/v1/events/s3", ["Records": []]).status == 401)
        #expect(try await deployment.admin.call("DELETE", path).status == 204)
        #expect(try await client.call("POST", "/v1/events/s3?secret=\(secret)", ["Records": []]).status == 401)
    }
}
