import Foundation
import LibCrypto
import Testing

@testable import GatewayCore

/// A deny template without a value for its variable denies everything that it might cover: whatever lies below the text
/// before its first variable.
@Suite("A deny template without a usable value", .timeLimit(.minutes(1))) struct DenyTemplateTests {
    static let unusable = ["", "a/b", "..", "*", "a%2F", "a\u{85}"]
    static let all: [[String: String]] = [[:]] + unusable.map { ["tenant": $0] }

    private func decided(
        _ request: IssueRequest, _ deny: Grant, _ claims: [String: String]
    ) throws -> Verdict<Permit> {
        try Fixture.decided(
            request, under: Fixture.policy(grants: [Fixture.grant(1, on: ""), deny]), claims: claims)
    }

    @Test("denies every key below its literal beginning", arguments: all, ["user:alice", "group:staff", "*"])
    func keys(claims: [String: String], principal: String) throws {
        let deny = try Fixture.grant(2, to: principal, on: "t/x/${claim:tenant}/${sub}/in/", effect: .deny)
        for key in ["t/x/acme/alice/in/a", "t/x/y", "t/x/acme/bob/z"] {
            #expect(try decided(Fixture.get(key), deny, claims).error == .accessDenied, "\(key)")
        }
        for key in ["t/y", "t/xy", "t/x", "a"] {
            #expect(try decided(Fixture.get(key), deny, claims).permit.grant.id == Fixture.id(1), "\(key)")
        }
    }

    @Test("denies the whole bucket where it begins with a variable", arguments: all)
    func wholeBucket(claims: [String: String]) throws {
        let deny = try Fixture.grant(2, on: "${claim:tenant}/private.txt", actions: [.getObject], effect: .deny)
        #expect(try decided(Fixture.get("a"), deny, claims).error == .accessDenied)
        #expect(try decided(Fixture.put("a"), deny, claims).permit.grant.id == Fixture.id(1))
        let other = try Fixture.grant(2, on: "${claim:tenant}/", in: "other-bucket", effect: .deny)
        #expect(try decided(Fixture.get("a"), other, claims).permit.grant.id == Fixture.id(1))
        let over = try Fixture.grant(2, on: "${claim:tenant}/", effect: .deny, until: Fixture.now)
        #expect(try decided(Fixture.get("a"), over, claims).permit.grant.id == Fixture.id(1))
    }

    @Test("denies its own keys and no others once there is one")
    func usable() throws {
        let deny = try Fixture.grant(2, on: "t/${claim:tenant}/", effect: .deny)
        #expect(try decided(Fixture.get("t/acme/x"), deny, ["tenant": "acme"]).error == .accessDenied)
        #expect(try decided(Fixture.get("t/other/x"), deny, ["tenant": "acme"]).permit.grant.id == Fixture.id(1))
    }

    @Test("leaves a template that allows without any key", arguments: all)
    func allow(claims: [String: String]) throws {
        let allow = try Fixture.grant(1, on: "t/${claim:tenant}/")
        for key in ["t/acme/x", "t/x", "a"] {
            let policy = try Fixture.policy(grants: [allow])
            #expect(try Fixture.decided(Fixture.get(key), under: policy, claims: claims).error == .accessDenied)
        }
    }

    @Test("counts among many grants as well")
    func indexed() throws {
        var grants = try (0..<40).map { try Fixture.grant(100 + $0, on: "p\($0)/") }
        grants.append(try Fixture.grant(2, on: "p7/${claim:tenant}/", effect: .deny))
        let policy = try Fixture.policy(grants: grants)
        #expect(try Fixture.decided(Fixture.get("p7/a"), under: policy).error == .accessDenied)
        #expect(try Fixture.decided(Fixture.get("p8/a"), under: policy).permit.grant.id == Fixture.id(108))
    }

    @Test("is carved out of sessions", arguments: all)
    func sessions(claims: [String: String]) throws {
        func decided(_ prefix: String) throws -> Verdict<SessionPermit> {
            decideSession(
                try SessionRequest(
                    bucket: BucketName("demo-bucket"), prefix: prefix, actions: [.putObject], duration: nil),
                for: Subject(principal: try Principal("user:alice"), claims: claims),
                under: try Fixture.policy(grants: [
                    Fixture.grant(1, on: ""), Fixture.grant(2, to: "*", on: "t/${claim:tenant}/", effect: .deny),
                ]), sourceAddress: nil, now: Fixture.now)
        }
        let scope = try decided("").permit.scope
        #expect(scope.allowed(.putObject) == [ExactText("")] && scope.denied(.putObject) == [ExactText("t/")])
        #expect(try decided("t/acme/").error == .accessDenied)
        #expect(try decided("u/").permit.scope.denied(.putObject).isEmpty)
    }

    @Test("refuses forms that leave the key to the client", arguments: ["", "t/", "t/a/b/"])
    func forms(prefix: String) async throws {
        let deny = try Fixture.grant(2, to: "group:staff", on: "t/${claim:tenant}/x", effect: .deny)
        #expect(try await form(prefix, deny) == .accessDenied)
        #expect(try await form("u/", deny) == nil)
    }

    /// The reason why a form is refused.
    private func form(_ prefix: String, _ deny: Grant) async throws -> GatewayError? {
        var tables = ScriptedPolicy.Tables()
        tables.bucket = try Fixture.bucket()
        tables.credential = Fixture.credential()
        tables.grants = [try Fixture.grant(1, on: ""), deny]
        let alice = try Principal("user:alice")
        tables.members = [alice: [try Principal("group:staff")]]
        tables.apiKeys = [
            APIKey(
                id: Fixture.id(900), prefix: "k", hash: Digest(), name: "n", principal: alice, createdAt: Fixture.now)
        ]
        let cache = PolicyCache(source: ScriptedPolicy(tables))
        let authenticator = CacheAuthenticator(cache: cache)
        let forms = BrowserForms(
            ProvenIssuing(
                cache: cache, authenticator: authenticator, ledger: ScriptedLedger(), now: { Fixture.now },
                randomBytes: { [UInt8](repeating: 0xff, count: $0) }))
        let fields = PostPolicyTests.fields {
            $0.key = nil
            $0.keyStartsWith = prefix
        }
        do throws(GatewayError) {
            let context = RequestContext.test(try await authenticator.authenticate(Secret("k")))
            _ = try await forms.issue(forms.request(fields, in: context), in: context)
            return nil
        } catch {
            return error
        }
    }
}
