import Foundation
import Signing
import TestSupport
import Testing

@Suite("POST policies")
struct PostPolicyTests {
    private let expiration = SigningInstant(clampingEpochSeconds: 1_715_935_200)

    @Test func everyConditionIsWrittenAsTheDocumentsHaveIt() {
        let policy = PostPolicy(
            expiration: expiration,
            conditions: [
                .exactly(field: "bucket", value: "b"), .equals(field: "acl", value: "private"),
                .startsWith(field: "key", prefix: "u/"), .oneOf(field: "content-type", values: ["a/b", "c/d"]),
                .noneOf(field: "cache-control", values: []), .contentLengthRange(0...10),
            ])
        let conditions =
            #"[{"bucket":"b"},["eq","$acl","private"],["starts-with","$key","u/"],"#
            + #"["in","$content-type",["a/b","c/d"]],["not-in","$cache-control",[]],["content-length-range",0,10]]"#
        #expect(
            policy.json(expiration: .seconds)
                == #"{"expiration":"2024-05-17T08:40:00Z","conditions":\#(conditions)}"#)
        #expect(
            policy.json(expiration: .milliseconds)
                == #"{"expiration":"2024-05-17T08:40:00.000Z","conditions":\#(conditions)}"#)
    }

    @Test(arguments: 0..<20)
    func anotherReaderReadsWhatWasMeantFromPlainASCII(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        for _ in 0..<100 {
            let (field, value) = (
                GeneratedRequest.text(upTo: 10, using: &random), GeneratedRequest.text(upTo: 40, using: &random)
            )
            let policy = PostPolicy(
                expiration: expiration,
                conditions: [
                    .exactly(field: field, value: value), .startsWith(field: field, prefix: value),
                    .oneOf(field: field, values: [value, field]),
                ])
            let json = policy.json(expiration: .seconds)
            #expect(json.utf8.allSatisfy { (0x20...0x7E).contains($0) })
            let parsed = try JSONDecoder().decode(JSON.self, from: Data(json.utf8))
            // Compared by bytes, since JSON in this test compares texts by canonical equivalence.
            guard case .array(let conditions)? = parsed["conditions"], case .object(let exact) = conditions[0],
                case .array(let parts) = conditions[1], case .array(let listed) = conditions[2],
                case .array(let values) = listed[2]
            else {
                Issue.record("\(json)")
                continue
            }
            #expect(exact.first?.key.isSameBytes(as: field) == true)
            #expect(exact.first?.value.text.isSameBytes(as: value) == true)
            #expect(parts[0].text == "starts-with" && parts[1].text.isSameBytes(as: "$\(field)"))
            #expect(parts[2].text.isSameBytes(as: value))
            #expect(values.map(\.text).elementsEqual([value, field]) { $0.isSameBytes(as: $1) })
        }
    }
}
