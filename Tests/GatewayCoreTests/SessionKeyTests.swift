import Foundation
import Testing

@testable import GatewayCore

/// Sessions in buckets that encrypt with a key of AWS KMS.
@Suite struct SessionKeyTests {
    private static let keyID = "1234abcd-12ab-34cd-56ef-1234567890ab"
    private static let arn = "arn:aws:kms:eu-west-1:123456789012:key/\(keyID)"

    private static func role(
        key: String? = arn, named roleARN: String = "arn:aws:iam::123456789012:role/app",
        _ service: SessionRole.Service = .aws
    ) -> SessionRole {
        SessionRole(
            roleARN: roleARN, service: service, endpoint: "https://sts.example.com", region: "eu-west-1", kmsKeyARN: key
        )
    }

    private func permit(_ actions: Set<Action>, denied: Set<Action> = []) throws -> SessionPermit {
        var grants = [try Fixture.sessionGrant(1, actions: actions)]
        if !denied.isEmpty { grants.append(try Fixture.sessionGrant(2, actions: denied, effect: .deny)) }
        let request = try SessionRequest(
            bucket: try BucketName("demo-bucket"), prefix: "team/", actions: nil, duration: nil)
        return try decideSession(
            request, for: Subject(principal: try Principal("user:alice")), under: try Fixture.policy(grants: grants),
            sourceAddress: nil, now: Fixture.now
        ).permit
    }

    /// The statement that names the key, with its members sorted.
    private func statement(_ text: String) throws -> String? {
        let policy = try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
        let statements = try #require(policy["Statement"] as? [[String: Any]])
        let named = statements.filter { ($0["Resource"] as? [String])?.contains { $0.contains(":kms:") } == true }
        #expect(named.count < 2 && text.ranges(of: "kms:").isEmpty == named.isEmpty)
        return try named.first.map {
            let data = try JSONSerialization.data(withJSONObject: $0, options: [.sortedKeys, .withoutEscapingSlashes])
            return String(decoding: data, as: UTF8.self)
        }
    }

    @Test(
        arguments: [
            ([Action.getObject], #""kms:Decrypt""#), ([.putObject], #""kms:Decrypt","kms:GenerateDataKey""#),
            ([.putObject, .getObject, .deleteObject], #""kms:Decrypt","kms:GenerateDataKey""#),
            ([.listObjects, .deleteObject], nil),
        ] as [([Action], String?)])
    func `a session uses the key for what it may read and write, through S3 alone`(
        actions: [Action], operations: String?
    ) throws {
        let permit = try permit(Set(actions))
        let text = Self.role().policy(of: permit.scope)
        let expected = operations.map {
            #"{"Action":[\#($0)],"Condition":{"StringEquals":{"kms:ViaService":["s3.eu-west-1.amazonaws.com"]}},"#
                + #""Effect":"Allow","Resource":["\#(Self.arn)"]}"#
        }
        #expect(try statement(text) == expected)
        #expect(try statement(Self.role(key: nil).policy(of: permit.scope)) == nil)
    }

    @Test func `whoever may upload nothing makes no data keys`() throws {
        let permit = try permit([.putObject, .getObject], denied: [.putObject])
        let named = try statement(Self.role().policy(of: permit.scope))
        #expect(named?.contains(#""Action":["kms:Decrypt"]"#) == true)
    }

    @Test func `a proof fails for each change of what the policy says about the key`() throws {
        let permit = try permit([.putObject, .getObject])
        let key = try #require(KMSKey(Self.arn))
        let text = Self.role().policy(of: permit.scope)
        func isProven(_ text: String, _ key: KMSKey?) -> Bool {
            (try? prove(text, in: .aws, key: key, by: permit)) != nil
        }
        #expect(isProven(text, key))
        #expect(!isProven(text, nil), "no role has the key")
        #expect(!isProven(Self.role(key: nil).policy(of: permit.scope), key), "the key is missing")
        for (old, new) in [
            (#""kms:Decrypt","#, ""), (#","kms:GenerateDataKey""#, ""), (#""kms:Decrypt""#, #""kms:*""#),
            (#""kms:GenerateDataKey""#, #""kms:GenerateDataKey","kms:CreateGrant""#), (Self.arn, "*"),
            (Self.keyID, "*"), ("s3.eu-west-1.", "ec2.eu-west-1."), ("StringEquals", "StringLike"),
            (#","Condition":{"StringEquals":{"kms:ViaService":["s3.eu-west-1.amazonaws.com"]}}"#, ""),
        ] {
            let changed = text.replacing(old, with: new)
            #expect(changed != text && !isProven(changed, key), "\(old)")
        }
    }

    @Test(arguments: [
        ("arn:aws:kms:eu-west-1:123456789012:key/\(keyID)", "s3.eu-west-1.amazonaws.com"),
        ("arn:aws:kms:us-east-1:123456789012:key/mrk-0123456789abcdef", "s3.us-east-1.amazonaws.com"),
        ("arn:aws-cn:kms:cn-north-1:123456789012:key/\(keyID)", "s3.cn-north-1.amazonaws.com.cn"),
        ("arn:aws-us-gov:kms:us-gov-west-1:123456789012:key/\(keyID)", "s3.us-gov-west-1.amazonaws.com"),
    ])
    func `a key is used through S3 in its region`(arn: String, service: String) throws {
        let key = try #require(KMSKey(arn))
        #expect(key.arn == arn && key.service == service)
        let role = Self.role(key: arn, named: "arn:\(key.partition):iam::123456789012:role/app")
        #expect(try role.validated().kmsKeyARN == arn)
    }

    @Test(arguments: [
        "", keyID, "alias/photos", "arn:aws:kms:eu-west-1:123456789012:alias/photos",
        "arn:aws:kms:eu-west-1:123456789012:key/", "arn:aws:kms:eu-west-1:123456789012:key/*",
        "arn:aws:kms:*:123456789012:key/\(keyID)", "arn:aws:kms:eu-west-1:*:key/\(keyID)",
        "arn:aws:kms:eu-west-1:12345678901:key/\(keyID)", "arn:aws:kms::123456789012:key/\(keyID)",
        "arn:aws:s3:eu-west-1:123456789012:key/\(keyID)", "arn:other:kms:eu-west-1:123456789012:key/\(keyID)",
        "xarn:aws:kms:eu-west-1:123456789012:key/\(keyID)", arn + ":x", arn + "/x", arn + " ", arn + "\n", arn + "é",
        "arn:aws-cn:kms:cn-north-1:123456789012:key/\(keyID)",
    ])
    func `what is not the name of one key in the partition of the role is refused`(text: String) {
        #expect(refusedField { try Self.role(key: text).validated() } == "sessionRole.kmsKeyARN")
    }

    @Test(arguments: [SessionRole.Service.alibaba, .alibabaRPC])
    func `a role at Alibaba Cloud has no key of AWS`(service: SessionRole.Service) throws {
        let name = "acs:ram::1234567890123456:role/uploader"
        #expect(refusedField { try Self.role(named: name, service).validated() } == "sessionRole.kmsKeyARN")
        #expect(refusedField { try Self.role(key: nil, named: name, service).validated() } == nil)
        // Nor would a policy name it.
        let permit = try permit([.putObject, .getObject])
        #expect(try statement(Self.role(named: name, service).policy(of: permit.scope)) == nil)
    }

    @Test func `the policy of a session that is opened names the key of the credential's role`() async throws {
        let source = try ScriptedPolicy.ofSessions()
        source.set { $0.credential?.sessionRole = Self.role() }
        let cache = PolicyCache(source: source)
        let (opener, ledger) = (ScriptedOpener(), ScriptedLedger())
        let (sessions, authenticator) = Sessions.scripted(cache, ledger, opener)
        let request = try SessionRequest(
            bucket: try BucketName("demo-bucket"), prefix: "team/", actions: nil, duration: nil)
        let caller = try await authenticator.authenticate(Secret("key"))
        _ = try await sessions.issue(request, in: .test(caller))
        #expect(opener.orders.first?.policy.contains(Self.arn) == true && ledger.proposals.count == 1)
    }
}
