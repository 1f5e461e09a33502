import Foundation
import GatewayCore
import TestSupport
import Testing

/// Compares `decide`, over rows found through the cache, with a plain reading of the rules over all rows.
@Suite struct DecisionComparisonTests {
    static let segments = ["a", "b", "ab", "alice", "acme", "é", "e\u{301}"]
    static let names = ["user:alice", "user:bob", "group:g1", "group:g2", "*"]

    @Test(arguments: [1, 2, 3, 4] as [UInt64])
    func `ten thousand random worlds are decided as the rules read`(seed: UInt64) async throws {
        var random = SeededGenerator(seed: seed)
        var outcomes: [String: Int] = [:]
        for _ in 0..<2_500 {
            let world = try Self.world(&random)
            let request = try Self.request(&random)
            let cache = PolicyCache(
                source: ScriptedPolicy(world),
                limits: PolicyCache.Limits(literalGrantLimit: .random(in: 0...12, using: &random))
            )
            let alice = Subject(principal: try Principal("user:alice"), claims: ["tenant": "acme"])
            let policy = try await cache.access(
                of: alice.principal, groups: [Principal("group:g1")], to: request.bucket, key: request.key
            )
            let decision = decide(request, for: alice, under: policy, sourceAddress: nil, now: Fixture.now)
            let actual = Self.summary(decision)
            #expect(actual == Self.expected(request, world.grants))
            outcomes[String(actual.prefix(6)), default: 0] += 1
        }
        // The worlds must reach every kind of outcome, or the comparison shows little.
        for (kind, count) in outcomes { #expect(count > 5, "\(kind)") }
        #expect(outcomes.count == 6, "\(outcomes)")
    }

    static func world(_ random: inout SeededGenerator) throws -> ScriptedPolicy.Tables {
        var tables = ScriptedPolicy.Tables()
        tables.bucket = try Fixture.bucket()
        tables.credential = Fixture.credential()
        tables.members = [try Principal("user:alice"): [try Principal("group:g1")]]
        let count =
            Bool.random(using: &random)
            ? Int.random(in: 0...6, using: &random) : Int.random(in: 20...40, using: &random)
        for number in 1...max(count, 1) {
            let isDeny = Int.random(in: 0..<25, using: &random) == 0
            let conditions = isDeny ? GrantConditions() : conditions(&random)
            let actions: [Set<Action>] = [[.putObject], [.getObject], [.putObject, .getObject]]
            tables.grants.append(
                try Fixture.grant(
                    number * 7 % 41, to: names.randomElement(using: &random) ?? "*", on: prefix(&random),
                    in: Int.random(in: 0..<6, using: &random) == 0 ? "other-bucket" : "demo-bucket",
                    actions: actions.randomElement(using: &random) ?? [.putObject], effect: isDeny ? .deny : .allow,
                    conditions: conditions,
                    until: Int.random(in: 0..<8, using: &random) == 0 ? Fixture.now : nil
                )
            )
        }
        return tables
    }

    static func prefix(_ random: inout SeededGenerator) -> String {
        let pool = segments + ["${sub}", "${claim:tenant}", "${claim:none}"]
        let parts = (0..<Int.random(in: 0...3, using: &random)).map { _ in pool.randomElement(using: &random) ?? "a" }
        guard !parts.isEmpty else { return "" }
        return parts.joined(separator: "/") + (Int.random(in: 0..<4, using: &random) > 0 ? "/" : "")
    }

    static func conditions(_ random: inout SeededGenerator) -> GrantConditions {
        var conditions = GrantConditions()
        if Int.random(in: 0..<4, using: &random) == 0 { conditions.maxBytes = .random(in: 0...3, using: &random) }
        if Int.random(in: 0..<4, using: &random) == 0 {
            conditions.contentTypes = Bool.random(using: &random) ? ["image/*"] : ["text/html"]
        }
        if Int.random(in: 0..<12, using: &random) == 0 { conditions.sourceCIDRs = ["0.0.0.0/0"] }
        return conditions
    }

    static func request(_ random: inout SeededGenerator) throws -> IssueRequest {
        let parts = (0..<Int.random(in: 1...4, using: &random)).map { _ in segments.randomElement(using: &random) ?? "a"
        }
        let key = parts.joined(separator: "/")
        guard Bool.random(using: &random) else { return try Fixture.get(key) }
        let type = ["image/png", "image/svg+xml", "text/html"].randomElement(using: &random)
        return try Fixture.put(
            key, type: type, length: Bool.random(using: &random) ? .random(in: 0...4, using: &random) : nil)
    }

    static func summary(_ decision: Verdict<Permit>) -> String {
        switch decision {
        case .permit(let permit): "permit \(permit.grant.id)"
        case .refuse(let refusal):
            switch refusal.error {
            case .accessDenied: "denied"
            case .entityTooLarge(let maxBytes): "size   \(maxBytes)"
            case .conditionFailed(.contentType(let allowed)): "type   \(allowed)"
            case .conditionFailed(.contentLengthRequired): "length"
            case .conditionFailed(.sourceAddress), .conditionFailed(.validity): "when or where"
            default: "unexpected \(refusal.error)"
            }
        }
    }

    /// The rules, implemented once more over text alone.
    static func expected(_ request: IssueRequest, _ grants: [Grant]) -> String {
        let covering = grants.compactMap { grant -> (grant: Grant, prefix: [UInt8])? in
            guard ["user:alice", "group:g1", "*"].contains(grant.principal.rawValue),
                grant.bucket == request.bucket, grant.actions.contains(request.action)
            else { return nil }
            if grant.prefix.text.contains("none") {
                // Nobody knows which keys are denied, so all that begin like the template are.
                let start = grant.prefix.text.range(of: "${").map { grant.prefix.text[..<$0.lowerBound] } ?? ""
                let isDenied = grant.effect == .deny && request.key.rawValue.utf8.starts(with: start.utf8)
                return isDenied ? (grant, Array(start.utf8)) : nil
            }
            var text = grant.prefix.text.replacingOccurrences(of: "${sub}", with: "alice")
            text = text.replacingOccurrences(of: "${claim:tenant}", with: "acme")
            let (prefix, key) = (Array(text.utf8), Array(request.key.rawValue.utf8))
            let covers = prefix.isEmpty || prefix.last == 47 ? key.starts(with: prefix) : key == prefix
            return covers ? (grant, prefix) : nil
        }
        if covering.contains(where: { $0.grant.effect == .deny && $0.grant.notAfter == nil }) { return "denied" }
        let ranked = covering.filter { $0.grant.effect == .allow }.sorted { left, right in
            func rank(_ match: (grant: Grant, prefix: [UInt8])) -> String {
                let breadth = ["user:alice": 0, "group:g1": 1][match.grant.principal.rawValue] ?? 2
                let isTemplate = match.grant.prefix.text.contains("$") ? 1 : 0
                return "\(900 - match.prefix.count) \(isTemplate) \(breadth) \(match.grant.id)"
            }
            return rank(left) < rank(right)
        }
        let verdicts = ranked.map { (grant: $0.grant, failure: failure($0.grant, request)) }
        if let winner = verdicts.first(where: { $0.failure == nil }) { return "permit \(winner.grant.id)" }
        return verdicts.first?.failure ?? "denied"
    }

    static func failure(_ grant: Grant, _ request: IssueRequest) -> String? {
        if grant.notAfter != nil || grant.conditions.sourceCIDRs != nil { return "when or where" }
        guard let type = request.contentType?.text else { return nil }
        if let allowed = grant.conditions.contentTypes {
            let isAllowed = allowed == ["image/*"] ? type == "image/png" : type == "text/html"
            if !isAllowed { return "type   \(allowed)" }
        }
        guard let maxBytes = grant.conditions.maxBytes else { return nil }
        guard let length = request.contentLength else { return "length" }
        return length > maxBytes ? "size   \(maxBytes)" : nil
    }
}
