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

            // A table that cannot be read is no table without secrets.
            try await session.runScript("BEGIN; LOCK TABLE leak IN ACCESS EXCLUSIVE MODE")
            let error = await #expect(throws: ProgramError.self) { try await site.leaks(log: "", metrics: "") }
            #expect(error?.output.contains("lock timeout") == true)
            try await session.runScript("DROP TABLE leak; COMMIT")
            await session.close()
        }
    }

    @Test func `metrics are searched at the port of admins, and none there is an error`() async throws {
        try await Deployment.with(settings: ["SLUICE_ADMIN_LISTEN": "127.0.0.1:0"]) { site in
            let gateway = site.gateways[0]
            #expect(gateway.adminPort != gateway.port)
            let metrics = try await gateway.metrics()
            #expect(metrics.contains(#"sluice_http_connections{listener="admin"}"#))
            await site.end(gateway) { await gateway.crash() }
            await #expect(throws: (any Error).self) { try await gateway.metrics() }
        }
    }

    @Test func `secrets of every delivery are taken from its answer, and nothing else`() throws {
        let secret = "0123456789abcdef0123456789abcdef"
        let links = [
            "X-Amz-Expires=900&X-Amz-Signature=", "AWSAccessKeyId=AKIDEXAMPLE&Signature=",
            "x-oss-expires=900&x-oss-signature=", "X-Goog-Expires=900&X-Goog-Signature=", "auth_key=1900000000-0-0-",
            "expires=1900000000&md5=",
        ].map { "https://store.example/b/k?\($0)\(secret)" }
        let paths = ["202701311200/\(secret)/b/k", "\(secret)/6D7A4E80/b/k"].map { "https://cdn.example/\($0)" }
        for link in links + paths {
            let answers: [JSON] = [
                ["results": [["url": "\(link)"]]], ["presignedUrls": ["1": "\(link)"]],
                ["objects": [["actions": ["upload": ["href": "\(link)"]]]]],
            ]
            for json in answers { #expect(try Self.taken(from: json).contains { $0.hasSuffix(secret) }, "\(json)") }
            #expect(IssuedSecrets([], location: link).texts.contains { $0.hasSuffix(secret) }, "\(link)")
        }
        let xml = """
            <AssumeRoleWithWebIdentityResponse><AssumeRoleWithWebIdentityResult><Credentials>
            <AccessKeyId>ASIAEXAMPLEEXAMPLE</AccessKeyId><SecretAccessKey>\(secret)</SecretAccessKey>
            <SessionToken>\(secret)+/=</SessionToken></Credentials></AssumeRoleWithWebIdentityResult>
            </AssumeRoleWithWebIdentityResponse>
            """
        #expect(IssuedSecrets(Array(xml.utf8)).texts == [secret, "\(secret)+/="])
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
        for json in issued { #expect(try Self.taken(from: json) == [secret], "\(json)") }
        let plain: JSON = [
            "key": "sluice_photos/a_long_name_of_an_object.png", "url": "https://cdn.example/a?x=\(secret)",
            "nextPageToken": "\(secret)", "id": "0198c5a1-7a3b-7c11-9f6e-3f1d2c4b5a69", "ticketID": "\(secret)",
            "location": "https://store.example/bucket/\(secret)",
        ]
        #expect(IssuedSecrets(try plain.bytes, location: "/console?next=\(secret)").texts.isEmpty)
    }

    private static func taken(from json: JSON) throws -> Set<String> { IssuedSecrets(try json.bytes).texts }
}
