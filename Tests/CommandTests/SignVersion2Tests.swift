import Foundation
import Testing

@Suite("sluice sign, version 2", .timeLimit(.minutes(1)))
struct SignVersion2Tests {
    @Test(arguments: [
        ("oss-v1-header", "oss_v1_header", 9), ("aws-v2-header", "aws_v2", 9), ("gcs-v2-rsa-query", "gcs_v2_query", 2),
        ("oss-v1-post", "oss_post", 1), ("sts-ali-rpc-v1", "sts_alibaba", 3), ("cloudfront", "cdn", 10),
        ("alibaba-cdn-a", "cdn", 1), ("alibaba-cdn-b", "cdn", 1), ("alibaba-cdn-c", "cdn", 1),
        ("nginx-secure-link", "cdn", 1), ("cloudfront-cookies", "cdn_cookies", 12),
    ])
    func agreesWithEveryVector(scheme: String, name: String, count: Int) throws {
        let file = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../SigningTests/Vectors/\(name).json")
        let parsed = try JSONSerialization.jsonObject(with: Data(contentsOf: file))
        let vectors = try #require(parsed as? [[String: Any]]).filter { $0["scheme"] as? String == scheme }
        #expect(vectors.count == count)
        var input = Data()
        for vector in vectors {
            input +=
                try JSONSerialization.data(withJSONObject: vector.filter { $0.key != "expected" }) + Data("\n".utf8)
        }
        let result = try Command.run(["sign"], input: input)
        #expect(result.status == 0)
        let lines = result.output.split(separator: "\n")
        try #require(lines.count == vectors.count)
        for (line, vector) in zip(lines, vectors) {
            let answer = try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
            let expected = try #require(vector["expected"] as? [String: Any])
            let members = [
                "path": "path", "string_to_sign": "stringToSign", "signature": "signature",
                "authorization": "authorization", "policy_base64": "policyBase64",
            ]
            for (theirs, ours) in members {
                guard let text = expected[theirs] as? String else { continue }
                #expect(answer[ours] as? String == text, "\(theirs)")
            }
            if let fields = expected["fields"] as? [String: String] {
                #expect(answer["fields"] as? [String: String] == fields)
            }
            if let cookies = expected["cookies"] as? [String: String] {
                #expect(answer["cookies"] as? [String: String] == cookies)
            }
            // Published examples do not always show all headers.
            let required = try #require(expected["required_headers"] as? [String: String])
            if !scheme.hasSuffix("-header") || !required.isEmpty {
                let lowercased = Dictionary(uniqueKeysWithValues: required.map { ($0.key.lowercased(), $0.value) })
                #expect(answer["requiredHeaders"] as? [String: String] == lowercased)
            }
            if let pairs = expected["query_decoded"] as? [[Any]] {
                let query = try #require(answer["query"] as? [[String]])
                #expect(Set(query) == Set(pairs.map { $0.map { $0 as? String ?? "" } }))
                #expect(query.count == pairs.count)
            }
        }
    }
}
