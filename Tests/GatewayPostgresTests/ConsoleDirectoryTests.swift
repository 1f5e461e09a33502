import Foundation
import GatewayCore
import LibPQ
import PostgresTesting
import Testing

@testable import GatewayPostgres

/// What the pages of the console need, read from rows.
@Suite struct ConsoleDirectoryTests {
    @Test(.database(.migrated)) func `the issuers with sign-in and the stores are read, each once and in order`()
        async throws
    {
        let world = try AdminWorld()
        let none = try await world.stores.console.surroundings()
        #expect(none == ConsoleSurroundings())
        for (name, prefix) in [("https://two.example", "b|"), ("https://one.example", "a|")] {
            _ = try await world.stores.issuers.create(.sample(name, prefix: prefix), by: AdminWorld.change)
        }
        var plain = Issuer.sample("https://three.example", prefix: "c|")
        plain.console = nil
        _ = try await world.stores.issuers.create(plain, by: AdminWorld.change)
        let credential = try await world.stores.credentials.create(.sample(), by: AdminWorld.change)
        for (name, addressing) in [
            ("one", Bucket.Addressing.path), ("two", .path), ("three", .virtual), ("four", .cname),
        ] {
            var bucket = try Bucket.sample(name, credential: credential.id)
            bucket.addressing = addressing
            if addressing == .cname { bucket.endpoint = "https://objects.example" }
            if name == "two" {
                bucket.publicEndpoints = [
                    .default: PublicEndpoint(url: "https://files.example", addressing: .virtual),
                    .internal: PublicEndpoint(url: "https://internal.example"),
                    .cdn: PublicEndpoint(
                        url: "https://cdn.example",
                        signing: CDNSigning(scheme: .nginxSecureLink, credentialID: bucket.credentialID)),
                ]
            }
            _ = try await world.stores.buckets.create(bucket, by: AdminWorld.change)
        }
        let found = try await world.stores.console.surroundings()
        #expect(found.issuers.map(\.issuer) == ["https://one.example", "https://two.example"])
        #expect(
            found.issuers.map(\.console) == [
                Issuer.sample("https://one.example").console, Issuer.sample("https://two.example").console,
            ])
        #expect(
            found.stores == [
                StoreSite(endpoint: "https://cdn.example", hasBucketsAsHosts: false),
                StoreSite(endpoint: "https://files.example", hasBucketsAsHosts: true),
                StoreSite(endpoint: "https://internal.example", hasBucketsAsHosts: false),
                StoreSite(endpoint: "https://objects.example", hasBucketsAsHosts: false),
                StoreSite(endpoint: "https://s3.example", hasBucketsAsHosts: false),
                StoreSite(endpoint: "https://s3.example", hasBucketsAsHosts: true),
            ])
    }

    @Test(.database(.migrated)) func `a row whose sign-in no program could write is refused by the database`()
        async throws
    {
        let world = try AdminWorld()
        let issuer = try await world.stores.issuers.create(.sample(), by: AdminWorld.change).row
        for json in [
            #"[]"#, #"{}"#, #"{"clientID":7,"scopes":[],"send":"id_token"}"#,
            #"{"clientID":"c","scopes":"openid","send":"id_token"}"#, #"{"clientID":"c","scopes":[],"send":"both"}"#,
            #"{"clientID":"c","scopes":[]}"#,
        ] {
            await #expect(throws: PostgresError.self, "\(json)") {
                try await world.connection.perform(
                    Statement<String, Void>("UPDATE issuers SET console = $1::text::jsonb") { [$0] }, json)
            }
        }
        #expect(try await world.stores.issuers.get(issuer.id.uuidString.lowercased()).row == issuer)
    }
}
