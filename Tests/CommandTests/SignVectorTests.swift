import Foundation
import Testing

@Suite("sluice sign, vectors", .timeLimit(.minutes(5)))
struct SignVectorTests {
    /// The vectors of one scheme in a file.
    struct File: Sendable, CustomTestStringConvertible {
        var scheme: String
        var name: String
        var count: Int

        var testDescription: String { scheme }

        /// The vectors. A policy made by the SDK is among the inputs, to be signed unchanged.
        func vectors() throws -> [[String: Any]] {
            let url = URL(filePath: #filePath).deletingLastPathComponent()
                .appending(path: "../SigningTests/Vectors/\(name).json")
            let parsed = try JSONSerialization.jsonObject(with: Data(contentsOf: url))
            return try #require(parsed as? [[String: Any]]).filter { $0["scheme"] as? String == scheme }.map { vector in
                var vector = vector
                var inputs = try #require(vector["inputs"] as? [String: Any])
                inputs["policy_base64"] = try #require(vector["expected"] as? [String: Any])["policy_base64"]
                vector["inputs"] = inputs
                return vector
            }
        }
    }

    static let files = [
        File(scheme: "aws-v4-query", name: "aws_v4_query", count: 13),
        File(scheme: "aws-v4-header", name: "aws_v4_header", count: 4),
        File(scheme: "aws-v4-post", name: "aws_v4_post", count: 3),
        File(scheme: "oss-v4-query", name: "oss_v4_query", count: 12),
        File(scheme: "oss-v4-header", name: "oss_v4_header", count: 6),
        File(scheme: "oss-v4-post", name: "oss_post", count: 1),
        File(scheme: "gcs-v4-rsa-query", name: "gcs_v4_query", count: 11),
        File(scheme: "gcs-v4-hmac-query", name: "gcs_v4_hmac_query", count: 2),
        File(scheme: "gcs-v4-post", name: "gcs_v4_post", count: 3),
        File(scheme: "oss-v1-query", name: "oss_v1_query", count: 12),
        File(scheme: "aws-v2-query", name: "aws_v2", count: 3),
        File(scheme: "sts-aws-v4", name: "sts_aws", count: 2),
        File(scheme: "sts-ali-acs3", name: "sts_alibaba", count: 1),
    ]

    private func sign(_ vectors: [[String: Any]]) throws -> [SignAnswer] {
        var input = Data()
        for vector in vectors {
            input +=
                try JSONSerialization.data(withJSONObject: vector.filter { $0.key != "expected" }) + Data("\n".utf8)
        }
        return try SignAnswer.of(input).answers
    }

    @Test(arguments: files)
    func agreesWithEveryVector(file: File) throws {
        let vectors = try file.vectors()
        #expect(vectors.count == file.count)
        let answers = try sign(vectors)
        try #require(answers.count == vectors.count)
        for (answer, vector) in zip(answers, vectors) {
            let expected = try #require(vector["expected"] as? [String: Any])
            func text(_ name: String) -> String? { expected[name] as? String }
            #expect(answer.error == nil)
            #expect(answer.name == vector["name"] as? String)
            #expect(answer.signature == text("signature"))
            if let authorization = text("authorization") {
                #expect(answer.authorization?.compact == authorization.compact)
            }
            if let canonicalRequest = text("canonical_request") { #expect(answer.canonicalRequest == canonicalRequest) }
            if let stringToSign = text("string_to_sign") { #expect(answer.stringToSign == stringToSign) }
            if let body = text("body") { #expect(answer.body == body) }
            if let policy = text("policy_base64") { #expect(answer.policyBase64 == policy) }
            if let fields = expected["fields"] as? [String: String] { #expect(answer.fields == fields) }
            // The tests of the iOS SDK publish only the signature, without headers.
            guard !answer.isOfIOSTests else { continue }
            #expect(answer.requiredHeaders == expected["required_headers"] as? [String: String])
            guard let path = text("path") else { continue }
            #expect(answer.path == path)
            let pairs = try #require(expected["query_decoded"] as? [[Any]]).map { $0.map { $0 as? String ?? "" } }
            #expect(answer.query.map(Set.init) == Set(pairs))
            #expect(answer.query?.count == pairs.count)
        }
    }

    @Test(arguments: files)
    func aMutatedInputDisagrees(file: File) throws {
        let mutations = [
            "key", "method", "secret_access_key", "access_key_id", "now", "policy_base64", "body", "params",
        ]
        for name in mutations {
            let vectors = try file.vectors().compactMap { vector -> [String: Any]? in
                var inputs = try #require(vector["inputs"] as? [String: Any])
                guard let value = inputs[name], Self.isSigned(name, in: file.scheme) else { return nil }
                inputs[name] = Self.mutated(value, of: name)
                return vector.merging(["inputs": inputs]) { $1 }
            }
            for (answer, vector) in zip(try sign(vectors), vectors) {
                let expected = try #require(vector["expected"] as? [String: Any])
                #expect(answer.signature != expected["signature"] as? String, "\(name) of \(answer.name ?? "")")
            }
        }
    }

    /// Whether the signature covers an input. The signature of a policy covers only the policy.
    private static func isSigned(_ name: String, in scheme: String) -> Bool {
        if scheme.hasSuffix("-post") {
            return name == "secret_access_key" || name == "policy_base64" || name == "now" && !scheme.hasPrefix("gcs")
        }
        if name == "access_key_id" { return scheme.contains("v4-") && scheme.hasSuffix("query") }
        if name == "method" { return scheme != "sts-aws-v4" }
        return true
    }

    private static func mutated(_ value: Any, of name: String) -> Any {
        switch (name, value) {
        case ("now", _): "2031-02-03T04:05:06Z"
        case ("policy_base64", _): "e30="
        case ("method", let text as String): text == "GET" ? "PUT" : "GET"
        case ("params", let params as [String: Any]): params.merging(["RoleSessionName": "another"]) { $1 }
        case (_, let text as String): text + "x"
        default: value
        }
    }

    @Test func aFormWithoutAPolicyGetsItsOwn() throws {
        for file in Self.files where file.scheme.hasSuffix("-post") {
            let vectors = try file.vectors().filter { $0["name"] as? String != "aws4-doc-post-example" }.map { vector in
                var vector = vector
                var inputs = try #require(vector["inputs"] as? [String: Any])
                inputs["policy_base64"] = nil
                vector["inputs"] = inputs
                return vector
            }
            for (answer, vector) in zip(try sign(vectors), vectors) {
                let policy = try #require(answer.policyBase64.flatMap { Data(base64Encoded: $0) })
                let written = try #require(try JSONSerialization.jsonObject(with: policy) as? NSDictionary)
                let expected = try #require(vector["expected"] as? [String: Any])
                let wanted = try #require(expected["policy_json"] as? NSDictionary)
                #expect(written["expiration"] as? String == wanted["expiration"] as? String)
                #expect(try Self.conditions(written) == Self.conditions(wanted))
                #expect(answer.fields?["policy"] == answer.policyBase64)
            }
        }
    }

    /// The conditions as texts; their order does not matter.
    private static func conditions(_ policy: NSDictionary) throws -> Set<String> {
        Set(
            try (policy["conditions"] as? [Any] ?? []).map {
                String(decoding: try JSONSerialization.data(withJSONObject: $0, options: .sortedKeys), as: UTF8.self)
            })
    }
}

extension SignAnswer {
    fileprivate var isOfIOSTests: Bool { name?.hasPrefix("oss4-ios-test") == true }
}

extension String {
    /// Drops the space that some SDKs write after the commas of an authorization.
    fileprivate var compact: String { replacing(", ", with: ",") }
}
