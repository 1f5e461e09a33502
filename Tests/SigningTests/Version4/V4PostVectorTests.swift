import Foundation
import Bytes
import Signing
import Testing

@Suite("V4 POST policy vectors")
struct V4PostVectorTests {
    static let vectors = ["aws_v4_post", "oss_post", "gcs_v4_post"].flatMap(Vector.all(in:))
        .filter { $0.scheme != "oss-v1-post" }

    @Test func allVectorsAreThere() {
        #expect(Self.vectors.count == 3 + 1 + 3)
    }

    @Test(arguments: vectors)
    func thePolicyOfTheSDKIsSignedAsItIs(vector: Vector) throws {
        let policy = try #require(vector.expected.policyBase64)
        let signed = try vector.version4.signPolicy(policy, vector.postForm, vector.signingKey, vector.inputs.instant)
        #expect(signed.signature == vector.expected.signature)
        #expect(signed.policyBase64 == policy)
        guard let fields = vector.expected.fields else { return #expect(vector.name == "aws4-doc-post-example") }
        #expect(Dictionary(uniqueKeysWithValues: signed.fields.map { ($0.name, $0.value) }) == fields)
        if let url = vector.expected.url { #expect(signed.url == url) }
    }

    @Test(arguments: vectors.filter { $0.name != "aws4-doc-post-example" })
    func theOwnPolicySaysTheSameAsThatOfTheSDK(vector: Vector) throws {
        let signed = try vector.version4.signForm(vector.postForm, vector.signingKey, vector.inputs.instant)
        let json = try #require(Base64.decode(signed.policyBase64))
        let policy = try JSONDecoder().decode(JSON.self, from: Data(json))
        let expected = try #require(vector.expected.policyJson)
        #expect(policy["expiration"] == expected["expiration"])
        #expect(policy[setOf: "conditions"] == expected[setOf: "conditions"])
        let again = try vector.version4.signPolicy(
            signed.policyBase64, vector.postForm, vector.signingKey, vector.inputs.instant)
        #expect(again == signed)
    }

    @Test(arguments: vectors)
    func anotherPolicyHasAnotherSignature(vector: Vector) throws {
        let policy = try #require(vector.expected.policyBase64)
        let changed = policy.hasPrefix("A") ? "B" : "A" + policy.dropFirst()
        let signed = try vector.version4.signPolicy(changed, vector.postForm, vector.signingKey, vector.inputs.instant)
        #expect(signed.signature != vector.expected.signature)
    }
}
