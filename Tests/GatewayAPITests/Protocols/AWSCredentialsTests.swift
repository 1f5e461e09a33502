import Foundation
import GatewayCore
import HTTPServing
import HTTPTypes
import Synchronization
import TestSupport
import Testing

@testable import GatewayAPI

@Suite("Credentials as the AWS SDKs fetch them")
struct AWSCredentialsTests {
    private let path = "/v1/sts/aws/photos/uploads/"

    // MARK: Container credentials

    @Test(arguments: ["Bearer user-token", "bearer user-token", "user-token"])
    func `containers get what their token permits, with Bearer or without`(authorization: String) async throws {
        let gateway = TestGateway()
        let answer = await gateway.send(.get, path, headers: [.authorization: authorization])
        #expect(answer.status == 200, "\(answer.text)")
        #expect(
            answer.text == #"""
                {"AccessKeyId":"STS.N1","SecretAccessKey":"session-secret","Token":"session-token/+=",\#
                "Expiration":"2030-03-17T18:46:40Z"}
                """#)
        #expect(answer.headers[.cacheControl] == "no-store" && answer.headers[.rateLimit] != nil)
        let order = try #require(gateway.opener.orders.withLock { $0.first })
        #expect(order.policy.contains("photos/uploads/*"))
        let proposal = try #require(gateway.ledger.proposals.withLock { $0.first })
        #expect(proposal.delivery == .sts && proposal.key.rawValue == "uploads/")
        for secret in ["session-secret", "session-token", "user-token"] { #expect(!gateway.logLines.contains(secret)) }
        #expect(gateway.logLines.contains("/v1/sts/aws/{scope}"))
    }

    @Test func `refusals have the true status, and the members that the SDKs print`() async {
        let cases: [(path: String, authorization: String?, status: Int, code: String)] = [
            (path, nil, 401, "Unauthenticated"), (path, "wrong", 401, "Unauthenticated"),
            (path, "Basic dXNlcjpw", 401, "Unauthenticated"), (path, "user-token x", 401, "Unauthenticated"),
            (path, "expired-token", 401, "ExpiredToken"),
            ("/v1/sts/aws/photos/other/", "user-token", 403, "AccessDenied"),
            ("/v1/sts/aws/nosuch", "user-token", 403, "AccessDenied"),
            ("/v1/sts/aws/P/", "user-token", 400, "InvalidArgument"),
            ("/v1/sts/aws/photos//", "user-token", 400, "InvalidArgument"),
            ("/v1/sts/aws/photos/uploads/?actions=Fly", "user-token", 400, "InvalidArgument"),
            ("/v1/sts/aws/photos/uploads/?actions=", "user-token", 400, "InvalidArgument"),
            ("/v1/sts/aws/photos/uploads/?expiresIn=899", "user-token", 400, "InvalidArgument"),
            ("/v1/sts/aws/photos/uploads/?expiresIn=x", "user-token", 400, "InvalidArgument"),
            ("/v1/sts/aws/photos/uploads/?bucket=photos", "user-token", 400, "InvalidArgument"),
        ]
        for (path, authorization, status, code) in cases {
            var headers = HeaderFields()
            headers[.authorization] = authorization
            let answer = await TestGateway().send(.get, path, headers: headers)
            #expect(answer.status == status, "\(path) \(authorization ?? "-"): \(answer.text)")
            #expect(answer.string("code") == code && answer.string("message")?.isEmpty == false, "\(answer.text)")
            #expect(Set(answer.json.keys) == ["code", "message", "requestID"])
        }
    }

    @Test(arguments: ["PutObject", "s3:PutObject", "oss:PutObject,PutObject"])
    func `containers may name actions with the prefix of a service`(actions: String) async throws {
        let gateway = TestGateway()
        let answer = await gateway.send(.get, "\(path)?actions=\(actions)", headers: [.authorization: "user-token"])
        #expect(answer.status == 200, "\(answer.text)")
        let order = try #require(gateway.opener.orders.withLock { $0.first })
        #expect(order.policy.contains("PutObject") && !order.policy.contains("GetObject"))
    }

    // MARK: Web identity

    /// A form as the SDKs send it.
    private static func form(_ changes: [String: String?] = [:]) -> String {
        var fields: [String: String] = [
            "Action": "AssumeRoleWithWebIdentity", "Version": "2011-06-15",
            "RoleArn": RoleARN.beginning + "photos/uploads/", "RoleSessionName": "botocore-session-1",
            "WebIdentityToken": "user-token",
        ]
        for (name, value) in changes { fields[name] = value }
        let safe = CharacterSet.alphanumerics.union(CharacterSet(charactersIn: "-._~"))
        return fields.map { "\($0.key)=\($0.value.addingPercentEncoding(withAllowedCharacters: safe) ?? "")" }
            .joined(separator: "&")
    }

    private func assume(
        _ form: String, _ gateway: TestGateway = TestGateway(), at path: String = "/v1/aws/sts",
        type: String = "application/x-www-form-urlencoded; charset=utf-8"
    ) async -> TestAnswer {
        await gateway.send(.post, path, headers: [.contentType: type], json: form)
    }

    @Test(arguments: ["/v1/aws/sts", "/v1/aws/sts/"])
    func `a token of an issuer becomes credentials in the XML of AWS`(path: String) async throws {
        for end in ["", "\n", "\r\n", " \n"] {
            let gateway = TestGateway()
            let answer = await assume(Self.form(["WebIdentityToken": "user-token" + end]), gateway, at: path)
            #expect(answer.status == 200, "\(answer.text)")
            #expect(answer.headers[.contentType] == "text/xml" && answer.headers[.cacheControl] == "no-store")
            func text(_ name: String) -> String? { answer.element(name) }
            #expect(answer.text.hasPrefix("<AssumeRoleWithWebIdentityResponse xmlns="))
            #expect(text("AccessKeyId") == "STS.N1" && text("SecretAccessKey") == "session-secret")
            #expect(text("SessionToken") == "session-token/+=")
            #expect(text("Expiration") == "2030-03-17T18:46:40Z")
            #expect(text("SubjectFromWebIdentityToken") == "alice")
            #expect(text("Arn") == "arn:aws:sts::000000000000:assumed-role/sluice/botocore-session-1")
            #expect(text("RequestId")?.isEmpty == false)
            let proposal = try #require(gateway.ledger.proposals.withLock { $0.first })
            #expect(proposal.delivery == .sts && proposal.key.rawValue == "uploads/")
            for secret in ["session-", "user-token"] {
                #expect(!gateway.logLines.replacing("botocore-session-1", with: "").contains(secret))
            }
        }
    }

    @Test(arguments: [900, 959]) func `who asks for the least life gets it`(seconds: Int) async throws {
        let gateway = TestGateway()
        #expect(await assume(Self.form(["DurationSeconds": "\(seconds)"]), gateway).status == 200)
        let container = TestGateway()
        let answer = await container.send(
            .get, "\(path)?expiresIn=\(seconds)", headers: [.authorization: "user-token"])
        #expect(answer.status == 200, "\(answer.text)")
        for gateway in [gateway, container] {
            #expect(gateway.opener.orders.withLock { $0.first?.duration } == seconds)
        }
    }

    @Test func `refusals have the codes of AWS, a true status and the request's id`() async throws {
        let cases: [(changes: [String: String?], status: Int, code: String)] = [
            (["WebIdentityToken": "wrong"], 400, "InvalidIdentityToken"),
            (["WebIdentityToken": "a b"], 400, "InvalidIdentityToken"),
            (["WebIdentityToken": "user-token\nx"], 400, "InvalidIdentityToken"),
            (["WebIdentityToken": nil], 400, "ValidationError"), (["WebIdentityToken": ""], 400, "ValidationError"),
            (["WebIdentityToken": "expired-token"], 400, "ExpiredTokenException"),
            (["RoleArn": RoleARN.beginning + "photos/other/"], 403, "AccessDenied"),
            (["RoleArn": RoleARN.beginning + "nosuch/"], 403, "AccessDenied"),
            (["RoleArn": RoleARN.beginning], 400, "ValidationError"), (["RoleArn": nil], 400, "ValidationError"),
            (["RoleArn": "arn:aws:iam::123456789012:role/sluice/photos/"], 400, "ValidationError"),
            (["RoleArn": RoleARN.beginning + "photos/a*"], 400, "ValidationError"),
            (["RoleSessionName": "a"], 400, "ValidationError"), (["RoleSessionName": "a b"], 400, "ValidationError"),
            (["DurationSeconds": "899"], 400, "ValidationError"), (["DurationSeconds": "x"], 400, "ValidationError"),
            (["Policy": "{}"], 400, "MalformedPolicyDocument"),
            (["PolicyArns.member.1.arn": "x"], 400, "ValidationError"),
            (["Action": "GetCallerIdentity"], 400, "InvalidAction"), (["Action": nil], 400, "InvalidAction"),
            (["Version": "2012-10-17"], 400, "ValidationError"), (["ProviderId": "x"], 400, "ValidationError"),
        ]
        for (changes, status, code) in cases {
            let gateway = TestGateway()
            let answer = await assume(Self.form(changes), gateway)
            #expect(answer.status == status, "\(changes): \(answer.text)")
            func text(_ name: String) -> String? { answer.element(name) }
            #expect(text("Code") == code, "\(changes): \(answer.text)")
            #expect(text("Type") == "Sender" && text("Message")?.isEmpty == false)
            #expect(text("RequestId") == answer.headers[.requestID])
            #expect(gateway.ledger.proposals.withLock { $0.isEmpty })
        }
        let json = await assume(Self.form(), type: "application/json")
        #expect(json.status == 400 && json.text.contains("<Code>InvalidAction</Code>"))
        for (error, status, code) in [
            (GatewayError.unavailable(retryAfter: 7), 503, "ServiceUnavailable"),
            (GatewayError.slowDown(retryAfter: 7), 503, "ServiceUnavailable"),
        ] {
            let answer = await assume(Self.form(), TestGateway(ledger: StubLedger(failure: error)))
            #expect(answer.status == status && answer.text.contains("<Code>\(code)</Code>"), "\(answer.text)")
            #expect(answer.text.contains("<Type>Receiver</Type>") && answer.headers[.retryAfter] == "7")
        }
        // The token service does not implement the operation.
        let opener = StubOpener(failure: .storeRefused(status: 501, code: nil))
        let refused = await assume(Self.form(), TestGateway(opener: opener))
        #expect(refused.status == 502 && refused.element("Code") == "ServiceUnavailable", "\(refused.text)")
        #expect(refused.element("Type") == "Receiver")
    }

    @Test func `a quota that is used up is told as throttling, and by the container's address as itself`() async throws
    {
        let refusal = QuotaRefusal(
            quotaID: "q", metric: .urls, period: .day, limit: 3, remaining: 0, resetsIn: 60)
        let ledger = StubLedger(verdict: .quotaExceeded(refusal))
        let form = await assume(Self.form(), TestGateway(ledger: ledger))
        #expect(
            form.status == 429 && form.text.contains("<Code>Throttling</Code>") && form.headers[.retryAfter] == "60")
        let plain = await TestGateway(ledger: ledger).send(.get, path, token: "user-token")
        #expect(plain.status == 429 && plain.string("code") == "QuotaExceeded")
    }

    // MARK: Parsers

    /// Number of inputs that each parser gets; `SLUICE_TEST_PROTOCOL_INPUTS` sets it.
    private static let inputs =
        ProcessInfo.processInfo.environment["SLUICE_TEST_PROTOCOL_INPUTS"].flatMap { Int($0) } ?? 20_000

    @Test func `whatever is read as a role names its bucket and prefix in one way`() throws {
        var generator = SeededGenerator(seed: 18)
        let pieces = [
            RoleARN.beginning, "arn:aws:iam::", "000000000000", ":role/", "sluice/", "photos", "/", "//", "..", ".",
            "a", "%2F", "*", "${", "\\", "\n", "é", "\u{0}", "P", "?", " ", String(repeating: "x", count: 2000),
        ]
        var accepted = 0
        for _ in 0..<Self.inputs {
            let count = Int.random(in: 0...6, using: &generator)
            var text = Bool.random(using: &generator) ? RoleARN.beginning : ""
            for _ in 0..<count { text += pieces.randomElement(using: &generator) ?? "" }
            guard let role = try? RoleARN(text) else { continue }
            accepted += 1
            let whole = RoleARN.beginning + role.bucket.rawValue
            #expect(text == whole + "/" + role.prefix || (role.prefix.isEmpty && text == whole), "\(text)")
            #expect(RoleARN.lengths.contains(text.unicodeScalars.count))
        }
        #expect(accepted > Self.inputs / 200)
    }

    @Test func `whatever is read as a form is what an independent reader finds in it`() throws {
        var generator = SeededGenerator(seed: 4)
        let pieces: [String] = [
            "Action", "=", "&", "AssumeRoleWithWebIdentity", "%", "%4", "%41", "%e9", "%C3%A9", "+", "%00", "%0A",
            "%26",
            "%3D", "RoleArn", "é", "\u{7f}", " ", ";", "a", "%zz", "&&", "==",
        ]
        var accepted = 0
        for round in 0..<Self.inputs {
            var text = ""
            if round % 3 == 0 { text = Self.form() + "&" }
            for _ in 0..<Int.random(in: 0...7, using: &generator) {
                text += pieces.randomElement(using: &generator) ?? ""
            }
            guard let form = try? FormFields(Array(text.utf8)) else {
                // What every reader can read is not refused.
                #expect(!Self.isPlain(text), "\(text)")
                continue
            }
            accepted += 1
            var components = URLComponents()
            components.percentEncodedQuery = text.replacing("+", with: "%20")
            let items = (components.queryItems ?? []).filter { !($0.name.isEmpty && $0.value == nil) }
            #expect(items.count == form.names.count, "\(text)")
            for item in items { #expect(form[item.name] == item.value ?? "", "\(text)") }
            if let full = try? WebIdentityForm(Array(text.utf8)) {
                #expect(form["RoleArn"]?.hasPrefix(RoleARN.beginning + full.role.bucket.rawValue) == true)
                #expect(form["Policy"] == nil && form["WebIdentityToken"]?.contains(full.token.reveal()) == true)
            }
        }
        #expect(accepted > Self.inputs / 20)
    }

    /// Whether a form has unescaped letters only, and no name twice.
    private static func isPlain(_ text: String) -> Bool {
        let names = text.split(separator: "&").map { $0.prefix { $0 != "=" } }
        return text.allSatisfy { $0.isASCII && ($0.isLetter || "=&".contains($0)) } && Set(names).count == names.count
    }
}

extension TestAnswer {
    /// The text of the first element with a name.
    fileprivate func element(_ name: String) -> String? {
        guard let start = text.firstRange(of: "<\(name)>")?.upperBound,
            let end = text[start...].firstRange(of: "</\(name)>")?.lowerBound
        else { return nil }
        return String(text[start..<end])
    }
}
