import LibPQ
import Testing

/// The search for secrets at the end of each deployment finds what is there.
@Suite struct LeakSearchTests {
    @Test func `what was issued is found in a log, in metrics and in a table, as text and as bytes`() async throws {
        try await Deployment.with { site in
            let bucket = try await site.makeBucket("leaky", options: ["allowsRedirects": true])
            let user = try await site.makeUser("alice")
            try await site.grant(["GetObject"], to: user.principal, in: bucket)
            let link = try #require(try await user.ask(.download("a", from: bucket)).json["url"].text)
            let redirect = try await user.client.call("GET", "/v1/objects/\(bucket)/b")
            let location = try #require(redirect["Location"])
            #expect(try await site.leaks(log: "key=a location=/b", metrics: "").isEmpty)

            let session = try site.session()
            try await session.runScript(
                """
                CREATE TABLE leak (plain text, bytes bytea);
                INSERT INTO leak VALUES ('\(link)', convert_to('\(location)', 'UTF8'));
                """)
            let found = try await site.leaks(log: "to=\(location)", metrics: "sluice{key=\"\(user.client.token)\"} 1\n")
            for (place, count) in [("log:", 1), ("metrics:", 1), ("tables:", 2)] {
                #expect(found.count { $0.contains(place) } == count, "\(place) \(found)")
            }
            try await session.runScript("DROP TABLE leak")
            await session.close()
        }
    }

    @Test func `secrets of every delivery are taken from its answer, and nothing else`() throws {
        let secret = "0123456789abcdef0123456789abcdef"
        let links = [
            "X-Amz-Expires=900&X-Amz-Signature=", "AWSAccessKeyId=AKIDEXAMPLE&Signature=",
            "x-oss-expires=900&x-oss-signature=", "X-Goog-Expires=900&X-Goog-Signature=",
        ].map { "https://store.example/b/k?\($0)\(secret)" }
        for link in links {
            let batch: JSON = ["results": [["url": "\(link)"]]]
            #expect(IssuedSecrets(batch).texts == [secret], "\(link)")
            #expect(IssuedSecrets(.null, location: link).texts == [secret], "\(link)")
        }
        let issued: [JSON] = [
            ["fields": ["key": "a/b", "x-amz-signature": "\(secret)"]],
            ["fields": ["key": "a/b", "policy": "\(secret)"]],
            ["credentials": ["accessKeyID": "AKIDEXAMPLE", "sessionToken": "\(secret)"]],
            ["cookies": ["CloudFront-Key-Pair-Id": "K2JCJMDEHXQW5F", "CloudFront-Signature": "\(secret)"]],
            ["signature": "\(secret)"],
            ["authorization": "OSS AKIDEXAMPLE:\(secret)"],
            ["headers": ["Authorization": ["AWS4-HMAC-SHA256 SignedHeaders=host, Signature=\(secret)"]]],
            ["key": "sluice_abcdefghij01_\(secret)", "prefix": "abcdefghij01"],
            ["ticket": "sluicet_abcdefghij01_\(secret)"],
        ]
        for json in issued { #expect(IssuedSecrets(json).texts == [secret], "\(json)") }
        let plain: JSON = [
            "key": "sluice_photos/a_long_name_of_an_object.png", "url": "https://cdn.example/a?x=\(secret)",
            "nextPageToken": "\(secret)", "id": "0198c5a1-7a3b-7c11-9f6e-3f1d2c4b5a69", "ticketID": "\(secret)",
        ]
        #expect(IssuedSecrets(plain, location: "/console?next=\(secret)").texts.isEmpty)
    }
}
