import Foundation
import HTTPServing
import HTTPTypes
import Testing

@Suite("A caller's own access")
struct AccessEndpointTests {
    @Test(
        "shows all grants, or those of a bucket or around a prefix",
        arguments: [
            ("", ["oss-photos", "photos"]), ("?bucket=photos", ["photos"]), ("?bucket=photos&prefix=", ["photos"]),
            ("?bucket=photos&prefix=uploads/", ["photos"]), ("?bucket=photos&prefix=uploads/a/b.png", ["photos"]),
            ("?bucket=photos&prefix=other/", []), ("?bucket=photos&prefix=uploads", []), ("?bucket=no-bucket", []),
        ])
    func grants(query: String, buckets: [String]) async throws {
        let answer = await TestGateway().send(.get, "/v1/access" + query, token: "user-token")
        let grants = try #require(answer.json["grants"] as? [[String: Any]])
        #expect(answer.status == 200 && grants.compactMap { $0["bucket"] as? String } == buckets)
        #expect(answer.json["isTruncated"] as? Bool == false)
    }

    @Test(
        "refuses other questions",
        arguments: [
            ("prefix=uploads/", "bucket"), ("prefix=", "bucket"), ("bucket=x", "bucket"), ("bucket=", "bucket"),
            ("bucket=photos&prefix=/a", "prefix"), ("bucket=photos&prefix=$%7Bsub%7D/", "prefix"),
            ("bucket=photos&key=a", "key"),
        ])
    func refusals(query: String, field: String) async {
        let answer = await TestGateway().send(.get, "/v1/access?" + query, token: "user-token")
        #expect(answer.status == 400 && answer.string("field") == field, "\(answer.text)")
    }
}
