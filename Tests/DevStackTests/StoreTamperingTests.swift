import Foundation
import HTTPTypes
import Signing
import Testing

@testable import DevStack

/// The product of operations, schemes and what is tampered with. The answers are what the stores document, written down
/// here by hand.
@Suite struct StoreTamperingTests {
    /// A request that an operation is asked for with.
    struct Asked: Sendable, CustomTestStringConvertible {
        let name: String
        let method: HTTPRequest.Method
        let key: String
        var query: [NamedValue] = []
        var type: String?
        var testDescription: String { name }
    }

    static let operations = [
        Asked(name: "get", method: .get, key: "k"), Asked(name: "head", method: .head, key: "k"),
        Asked(name: "put", method: .put, key: "k", type: "text/plain"),
        Asked(name: "delete", method: .delete, key: "k"),
        Asked(name: "start", method: .post, key: "k", query: [NamedValue("uploads", "")], type: "text/plain"),
        Asked(
            name: "part", method: .put, key: "k",
            query: [NamedValue("partNumber", "1"), NamedValue("uploadId", "u")]),
        Asked(name: "list parts", method: .get, key: "k", query: [NamedValue("uploadId", "u")]),
        Asked(name: "complete", method: .post, key: "k", query: [NamedValue("uploadId", "u")]),
        Asked(name: "abort", method: .delete, key: "k", query: [NamedValue("uploadId", "u")]),
    ]

    /// What is changed after signing.
    enum Change: String, Sendable, CaseIterable {
        case nothing, key, method, expiry, header, vendorHeader, override, secret, token, noToken, late
    }

    @Test(arguments: operations, StoreScheme.allCases)
    func `what a URL binds cannot be changed`(asked: Asked, scheme: StoreScheme) async throws {
        for change in Change.allCases {
            let fixture = try StoreFixture(now: { change == .late ? Self.late : StoreFixture.signedAt })
            let answer = try await send(asked, scheme, change, to: fixture)
            // The only permitted difference: AWS version 4 leaves a type that it does not list to the client.
            let isFree = change == .header && scheme == .awsV4 && asked.type == nil
            let right = asked.method == .head || change == .nothing || isFree
            let code = right ? nil : Self.code(change, scheme)
            if change == .nothing || isFree {
                #expect(!Self.signatureCodes.contains(answer.code ?? ""), "\(change) \(answer.text)")
                #expect(answer.status != 403, "\(change) \(answer.text)")
            } else {
                #expect((400...403).contains(answer.status), "\(change) \(answer.status)")
                if let code { #expect(answer.code == code, "\(change) \(answer.text)") }
                #expect(fixture.fileCount == 0, "\(change)")
            }
        }
    }

    private static let late = StoreFixture.instant(StoreFixture.signedAt.epochSeconds + 61)
    private static let signatureCodes: Set<String> = [
        "SignatureDoesNotMatch", "AccessDenied", "InvalidToken", "InvalidSecurityToken", "InvalidAccessKeyId",
    ]

    /// The documented code of each refusal.
    private static func code(_ change: Change, _ scheme: StoreScheme) -> String {
        switch (change, scheme) {
        case (.late, _), (.vendorHeader, .awsV4): "AccessDenied"
        case (.token, .awsV4), (.token, .awsV2): "InvalidToken"
        case (.token, _): "InvalidSecurityToken"
        case (.noToken, _): "InvalidAccessKeyId"
        default: "SignatureDoesNotMatch"
        }
    }

    private func send(
        _ asked: Asked, _ scheme: StoreScheme, _ change: Change, to fixture: StoreFixture
    ) async throws -> Answer {
        let session = StoreSession(
            accessKeyID: "STS.TEST", end: Self.late.epochSeconds + 1000, language: .aws, policy: nil)
        let tokens = fixture.store.verifier.keys.tokens
        let token = try tokens.token(of: session)
        let secret = change == .secret ? "guess" : tokens.secret(of: token)
        let url = try Self.url(
            asked, scheme,
            with: SigningCredential(accessKeyID: "STS.TEST", secretAccessKey: secret, securityToken: token))
        var headers = ["content-length": "0"]
        headers["content-type"] = asked.type
        var method = asked.method
        var sent = url
        switch change {
        case .nothing, .secret, .late: break
        case .key: sent = url.replacing("/demo/k?", with: "/demo/l?")
        case .method: method = asked.method == .get ? .delete : .get
        case .expiry:
            sent = url.replacing(/([Ee]xpires=)(\d+)/) { "\($0.1)\((Int($0.2) ?? 0) + 1)" }
        case .header: headers["content-type"] = "text/html"
        case .vendorHeader: headers["\(scheme.dialect.headerPrefix)meta-a"] = "b"
        case .override: sent = url + "&response-content-type=text%2Fhtml"
        case .token: sent = url.replacing(token, with: String(token.dropLast()) + (token.last == "0" ? "1" : "0"))
        case .noToken:
            sent = url.replacing(/[&?][A-Za-z-]*[Ss]ecurity-[Tt]oken=[^&]*/) { $0.0.hasPrefix("?") ? "?" : "" }
                .replacing("?&", with: "?")
        }
        if ![.nothing, .secret, .late, .method, .header, .vendorHeader].contains(change) { #expect(sent != url) }
        return try await fixture.send(method, sent, headers: headers)
    }

    private static func url(_ asked: Asked, _ scheme: StoreScheme, with credential: SigningCredential) throws -> String
    {
        let request = PresignRequest(
            method: asked.method.rawValue,
            address: try BucketAddress(
                endpoint: StoreEndpoint(StoreFixture.origin), bucket: "demo", addressing: .path),
            key: asked.key, headers: asked.type.map { [NamedValue("content-type", $0)] } ?? [], query: asked.query,
            expiresInSeconds: 60)
        let now = StoreFixture.signedAt
        switch scheme {
        case .awsV4:
            let key = try SigningKeyV4(credential, scope: .aws(region: "us-east-1"), at: now)
            return try AWSV4.presign(request, with: key, at: now).url
        case .ossV4:
            let key = try SigningKeyV4(credential, scope: .oss(region: "cn-hangzhou"), at: now)
            return try OSSV4.presign(request, with: key, at: now).url
        case .awsV2: return try AWSV2.presign(request, with: SigningKeyV2(credential), at: now).url
        case .ossV1: return try OSSV1.presign(request, with: SigningKeyV2(credential), at: now).url
        }
    }
}
