import Foundation
import GatewayCore
import TestSupport
import Testing

/// Reads a session policy as a store does, without knowing how it was written.
private struct PolicyReader: Decodable {
    struct Rule: Decodable {
        enum CodingKeys: String, CodingKey {
            case effect = "Effect"
            case actions = "Action"
            case resources = "Resource"
            case conditions = "Condition"
        }

        let effect: String
        let actions: [String]
        let resources: [String]
        /// Values by operator and name.
        let conditions: [String: [String: [String]]]?

        func holds(withACL acl: String?) -> Bool {
            guard let conditions else { return true }
            guard conditions.keys.elementsEqual(["StringEquals"]), let names = conditions["StringEquals"],
                names.keys.elementsEqual(["oss:x-oss-object-acl"])
            else { return false }
            return acl.map { names["oss:x-oss-object-acl"]?.contains($0) == true } ?? false
        }
    }

    enum CodingKeys: String, CodingKey {
        case version = "Version"
        case rules = "Statement"
    }

    let version: String
    let rules: [Rule]

    func permits(_ action: String, on resource: String, acl: String? = nil) -> Bool {
        let matching = rules.filter { rule in
            rule.holds(withACL: acl) && rule.actions.contains(action)
                && rule.resources.contains { Self.matches($0[...], resource[...]) }
        }
        return matching.contains { $0.effect == "Allow" } && !matching.contains { $0.effect == "Deny" }
    }

    /// Matches a pattern in which `*` stands for any characters and `?` for one.
    private static func matches(_ pattern: Substring, _ text: Substring) -> Bool {
        guard let first = pattern.first else { return text.isEmpty }
        if first == "*" {
            return matches(pattern.dropFirst(), text) || (!text.isEmpty && matches(pattern, text.dropFirst()))
        }
        guard let next = text.first, first == "?" || first == next else { return false }
        return matches(pattern.dropFirst(), text.dropFirst())
    }
}

@Suite("A session policy, compared with the decision")
struct SessionPolicyComparisonTests {
    private static let segments = ["a", "b", "ab", "é", "a b", "*"]

    private func prefix(_ random: inout SeededGenerator) -> String {
        let count = Int.random(in: 0...3, using: &random)
        let path = (0..<count).map { _ in Self.segments[Int.random(in: 0..<6, using: &random)] }.joined(separator: "/")
        return path.isEmpty || Bool.random(using: &random) ? path : path + "/"
    }

    private func grant(_ number: Int, _ random: inout SeededGenerator) throws -> Grant {
        let actions: Set<Action> =
            [[.putObject], [.getObject], [.putObject, .getObject]][Int.random(in: 0..<3, using: &random)]
        let isDeny = Int.random(in: 0..<4, using: &random) == 0
        var conditions = GrantConditions()
        if !isDeny, Int.random(in: 0..<4, using: &random) == 0 {
            conditions =
                [
                    GrantConditions(maxBytes: 10), GrantConditions(contentTypes: ["image/png"]),
                    GrantConditions(maxTTL: 5000), GrantConditions(forceDownload: true),
                    GrantConditions(sourceCIDRs: ["10.0.0.0/8"]),
                ][Int.random(in: 0..<5, using: &random)]
        }
        let isTemplate = Int.random(in: 0..<5, using: &random) == 0
        if !isDeny, Int.random(in: 0..<3, using: &random) > 0 { conditions.allowResponseContentType = true }
        return try Fixture.grant(
            number, to: ["user:alice", "group:staff", "*"][Int.random(in: 0..<3, using: &random)],
            on: isTemplate ? "a/${sub}/" : prefix(&random), actions: actions, effect: isDeny ? .deny : .allow,
            conditions: conditions)
    }

    @Test("permits no action on no key that would not be permitted", arguments: SessionPolicyDialect.allCases)
    func permitsNoMore(dialect: SessionPolicyDialect) throws {
        var random = SeededGenerator(seed: dialect == .aws ? 7 : 11)
        var permitted = 0
        var carved = 0
        for round in 0..<1500 {
            let grants = try (0..<Int.random(in: 1...6, using: &random)).map { try grant(round * 10 + $0, &random) }
            let policy = try Fixture.policy(grants: grants)
            guard
                let request = try? SessionRequest(
                    bucket: try BucketName("demo-bucket"), prefix: prefix(&random), actions: nil, duration: nil),
                let permit = decideSession(
                    request, for: Subject(principal: try Principal("user:alice")), under: policy, sourceAddress: nil,
                    now: Fixture.now
                ).permitOrNil
            else { continue }
            let text = dialect.policy(of: permit.scope)
            let reader = try JSONDecoder().decode(PolicyReader.self, from: Data(text.utf8))
            #expect(reader.version == (dialect == .aws ? "2012-10-17" : "1"))
            carved += reader.rules.contains { $0.effect == "Deny" && $0.conditions == nil } ? 1 : 0
            for _ in 0..<40 {
                let text = prefix(&random) + Self.segments[Int.random(in: 0..<6, using: &random)]
                guard let key = try? ObjectKey(text) else { continue }
                for action in Action.allCases {
                    let (name, resource) =
                        dialect == .aws
                        ? ("s3:\(action.rawValue)", "arn:aws:s3:::demo-bucket/\(key)")
                        : ("oss:\(action.rawValue)", "acs:oss:x:1:demo-bucket/\(key)")
                    guard reader.permits(name, on: resource) else { continue }
                    permitted += 1
                    for acl in ["public-read", "public-read-write"] where dialect == .alibaba && action == .putObject {
                        #expect(!reader.permits(name, on: resource, acl: acl), "\(text) with \(acl)")
                    }
                    #expect(reader.permits(name, on: resource, acl: "private"))
                    // The holder of the keys can request any type for the answer.
                    var response = ResponseOverrides.Fields()
                    response.contentType = "text/html"
                    let wanted =
                        try action == .putObject ? Fixture.put(text) : Fixture.get(text) { $0.response = response }
                    #expect(
                        try Fixture.decided(wanted, under: policy).error == nil,
                        "\(action) \(text) by \(grants) through \(reader)")
                }
            }
        }
        #expect(permitted > 1000)
        #expect(carved > 20)
    }
}
