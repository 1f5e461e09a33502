import Foundation
import Bytes
import Signing
import Testing

@Suite("V4 forms")
struct PostFormTests {
    private let instant = SigningInstant(clampingEpochSeconds: 1_715_934_600)
    private let credential = SigningCredential(accessKeyID: "AKID", secretAccessKey: "s", securityToken: "t")

    private func form(_ change: (inout PostForm) -> Void = { _ in }) throws -> PostForm {
        var form = PostForm(
            address: try BucketAddress(endpoint: StoreEndpoint("https://h"), bucket: "b", addressing: .path),
            key: "u/1",
            expiresInSeconds: 60)
        change(&form)
        return form
    }

    private func conditions(of signed: SignedPostForm) throws -> Set<JSON> {
        let json = Data(try #require(Base64.decode(signed.policyBase64)))
        return try #require(try JSONDecoder().decode(JSON.self, from: json)[setOf: "conditions"])
    }

    private func sign(_ change: (inout PostForm) -> Void = { _ in }) throws -> SignedPostForm {
        let key = try SigningKeyV4(credential, scope: .aws(region: "r"), at: instant)
        return try AWSV4.sign(form(change), with: key, at: instant)
    }

    private func signAtOSS(_ change: (inout PostForm) -> Void) throws -> SignedPostForm {
        let key = try SigningKeyV4(credential, scope: .oss(region: "r"), at: instant)
        return try OSSV4.sign(form(change), with: key, at: instant)
    }

    @Test func everyFieldOfTheFormIsInThePolicy() throws {
        let signed = try sign {
            $0.fields = [
                NamedValue("Content-Type", "image/png"), NamedValue("x-ignore-me", "1"), NamedValue("acl", "private"),
            ]
            $0.conditions = [.startsWith(field: "content-type", prefix: "image/"), .contentLengthRange(1...9)]
        }
        #expect(signed.url == "https://h/b/")
        #expect(
            signed.fields.map(\.name) == [
                "key", "Content-Type", "x-ignore-me", "acl", "x-amz-algorithm", "x-amz-credential", "x-amz-date",
                "x-amz-security-token", "policy", "x-amz-signature",
            ])
        #expect(
            try conditions(of: signed) == [
                .array([.string("starts-with"), .string("$content-type"), .string("image/")]),
                .array([.string("content-length-range"), .number(1), .number(9)]),
                .object(["bucket": .string("b")]), .object(["key": .string("u/1")]),
                .object(["acl": .string("private")]),
                .object(["x-amz-algorithm": .string("AWS4-HMAC-SHA256")]),
                .object(["x-amz-credential": .string("AKID/20240517/r/s3/aws4_request")]),
                .object(["x-amz-date": .string("20240517T083000Z")]), .object(["x-amz-security-token": .string("t")]),
            ])
    }

    @Test(arguments: [("u/${filename}", "u/"), ("${filename}", ""), ("u/${filename}.png", "u/")])
    func aKeyWithTheNameOfTheFileIsBoundUpToIt(key: String, prefix: String) throws {
        let bound = JSON.array([.string("starts-with"), .string("$key"), .string(prefix)])
        #expect(try conditions(of: sign { $0.key = key }).contains(bound))
    }

    @Test(arguments: ["key", "KEY", "file", "policy", "X-Amz-Signature", "x-amz-credential", "x-amz-security-token"])
    func fieldsOfTheSignerAreTheSigners(name: String) {
        #expect(throws: SigningError.reservedField(name)) { try sign { $0.fields = [NamedValue(name, "v")] } }
    }

    @Test func conditionsAboutFieldsOfTheSignerAreTheSigners() {
        #expect(throws: SigningError.reservedField("x-amz-date")) {
            try sign { $0.conditions = [.startsWith(field: "X-Amz-Date", prefix: "")] }
        }
        #expect(throws: SigningError.duplicateField("ACL")) {
            try sign { $0.fields = [NamedValue("acl", "private"), NamedValue("ACL", "public-read")] }
        }
    }

    @Test func listsOfValuesAreForOSSAlone() throws {
        #expect(throws: SigningError.conditionNotSupported("in")) {
            try sign { $0.conditions = [.oneOf(field: "content-type", values: ["a"])] }
        }
        #expect(throws: SigningError.conditionNotSupported("not-in")) {
            try sign { $0.conditions = [.noneOf(field: "content-type", values: ["a"])] }
        }
        _ = try signAtOSS {
            $0.conditions = [.oneOf(field: "content-type", values: ["a"]), .noneOf(field: "acl", values: ["b"])]
        }
    }

    @Test(arguments: [0, -1, 604_801, .max])
    func aFormLivesFromOneSecondToSevenDays(seconds: Int) throws {
        _ = try sign { $0.expiresInSeconds = 604_800 }
        #expect(throws: SigningError.expiryOutOfRange(seconds: seconds, allowed: 1...604_800)) {
            try sign { $0.expiresInSeconds = seconds }
        }
    }

    @Test func lengthsBeginAtZero() {
        #expect(throws: SigningError.conditionNotSupported("content-length-range below 0")) {
            try sign { $0.conditions = [.contentLengthRange(-1...1)] }
        }
    }

    @Test(arguments: ["", "AWS4-HMAC-SHA256\n20240517T083000Z\n", "e30", "e30=\n", "e31=", "{}"])
    func nothingButBase64IsSignedAsAPolicy(text: String) throws {
        let key = try SigningKeyV4(credential, scope: .aws(region: "r"), at: instant)
        #expect(throws: SigningError.invalidPolicy) {
            try AWSV4.sign(policyBase64: text, for: form(), with: key, at: instant)
        }
    }

    @Test func aKeyOfAnotherSchemeOrDaySignsNoForm() throws {
        let oss = try SigningKeyV4(credential, scope: .oss(region: "r"), at: instant)
        #expect(throws: SigningError.keyOfAnotherScheme) { try AWSV4.sign(form(), with: oss, at: instant) }
        let tomorrow = try #require(instant.advanced(bySeconds: 86_400))
        #expect(throws: SigningError.keyOfAnotherDay) { try OSSV4.sign(form(), with: oss, at: tomorrow) }
    }
}
