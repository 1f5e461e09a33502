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
        var decided: [Action: [String: Int]] = [:]
        var (listings, skipped) = (0, 0)
        for _ in 0..<2_500 {
            let world = try Self.world(&random)
            let request = try Self.request(&random)
            let cache = PolicyCache(
                source: ScriptedPolicy(world),
                limits: PolicyCache.Limits(literalGrantLimit: .random(in: 0...12, using: &random))
            )
            let alice = Subject(principal: try Principal("user:alice"), claims: ["tenant": "acme"])
            if request.action == .listObjects { listings += 1 }
            // Nobody lists below a prefix with more grants than are examined.
            guard let policy = try await Self.policy(for: request, of: alice.principal, in: cache) else {
                skipped += 1
                continue
            }
            let decision = decide(request, for: alice, under: policy, sourceAddress: nil, now: Fixture.now)
            let actual = Self.summary(decision)
            #expect(actual == Self.expected(request, world.grants))
            let kind = String(actual.prefix(6))
            outcomes[kind, default: 0] += 1
            decided[request.action, default: [:]][kind, default: 0] += 1
        }
        // The worlds must reach every kind of outcome, or the comparison shows little.
        for (kind, count) in outcomes { #expect(count > 5, "\(kind)") }
        for action in Action.allCases {
            let counts = decided[action] ?? [:]
            #expect(counts["permit"] ?? 0 > 5 && counts["denied"] ?? 0 > 5, "\(action): \(counts)")
        }
        #expect(3 * skipped < listings, "\(skipped) of \(listings) listings were not decided")
        #expect(outcomes.count == 9, "\(outcomes)")
    }

    private static func policy(
        for request: IssueRequest, of caller: Principal, in cache: PolicyCache
    ) async throws -> AccessPolicy? {
        let groups = [try Principal("group:g1")]
        guard request.action == .listObjects else {
            return try await cache.access(of: caller, groups: groups, to: request.bucket, key: request.key)
        }
        let parts = request.key.rawValue.split(separator: "/", omittingEmptySubsequences: false).dropLast()
        return try await cache.access(
            of: caller, groups: groups, to: request.bucket, around: ExactText(parts.map { "\($0)/" }.joined()))
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
            let conditions = isDeny ? GrantConditions() : allConditions(&random)
            let actions = Set(Action.allCases.filter { _ in Bool.random(using: &random) })
            func instant(_ seconds: Int...) -> Date? {
                guard Int.random(in: 0..<6, using: &random) == 0 else { return nil }
                return seconds.randomElement(using: &random).map { Fixture.now.addingTimeInterval(TimeInterval($0)) }
            }
            tables.grants.append(
                try Fixture.grant(
                    number * 7 % 41, to: names.randomElement(using: &random) ?? "*", on: prefix(&random),
                    in: Int.random(in: 0..<6, using: &random) == 0 ? "other-bucket" : "demo-bucket",
                    actions: actions.isEmpty ? [.getObject] : actions, effect: isDeny ? .deny : .allow,
                    conditions: conditions, from: instant(0, 600), until: instant(0, 0, 300)
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

    private static func allConditions(_ random: inout SeededGenerator) -> GrantConditions {
        var conditions = conditions(&random)
        if Int.random(in: 0..<5, using: &random) == 0 { conditions.requireContentMD5 = true }
        if Int.random(in: 0..<4, using: &random) == 0 { conditions.maxTTL = .random(in: 100...1000, using: &random) }
        if Int.random(in: 0..<4, using: &random) == 0 { conditions.forceDownload = true }
        if Bool.random(using: &random) { conditions.allowResponseContentType = true }
        if Bool.random(using: &random) { conditions.allowVersions = true }
        return conditions
    }

    static func request(_ random: inout SeededGenerator) throws -> IssueRequest {
        let parts = (0..<Int.random(in: 1...4, using: &random)).map { _ in segments.randomElement(using: &random) ?? "a"
        }
        let key = parts.joined(separator: "/")
        switch Int.random(in: 0..<6, using: &random) {
        case 0...1:
            let type = ["image/png", "image/svg+xml", "text/html"].randomElement(using: &random)
            return try Fixture.put(
                key, type: type, length: Bool.random(using: &random) ? .random(in: 0...4, using: &random) : nil
            ) { fields in
                if Bool.random(using: &random) { fields.contentMD5 = "1B2M2Y8AsgTpgAmY7PhCfg==" }
            }
        case 2...3:
            return try Fixture.get(key) { fields in
                if Int.random(in: 0..<4, using: &random) == 0 { fields.versionID = "17" }
                var response = ResponseOverrides.Fields()
                if Int.random(in: 0..<4, using: &random) == 0 { response.contentType = "text/html" }
                response.contentDisposition = [nil, nil, "inline", "attachment"].randomElement(using: &random) ?? nil
                fields.response = response
            }
        case let other:
            var fields = IssueRequest.Fields()
            fields.bucket = "demo-bucket"
            if other == 4 {
                (fields.action, fields.key) = ("DeleteObject", key)
            } else {
                (fields.action, fields.prefix) = ("ListObjects", key + (Bool.random(using: &random) ? "/" : ""))
            }
            return try IssueRequest(fields)
        }
    }

    static func summary(_ decision: Verdict<Permit>) -> String {
        switch decision {
        case .permit(let permit): "permit \(permit.grant.id) for \(permit.expiresIn) s"
        case .refuse(let refusal):
            switch refusal.error {
            case .accessDenied: "denied"
            case .entityTooLarge(let maxBytes): "size   \(maxBytes)"
            case .conditionFailed(.contentType(let allowed)): "type   \(allowed)"
            case .conditionFailed(.scriptableContentType(_, let pattern)): "type   \([pattern])"
            case .conditionFailed(.contentLengthRequired): "length"
            case .conditionFailed(.contentMD5Required): "md5"
            case .conditionFailed(.responseContentType): "answer: type"
            case .conditionFailed(.forcedDownload): "answer: disposition"
            case .conditionFailed(.versions): "versions"
            case .conditionFailed(.sourceAddress), .conditionFailed(.notYetValid), .conditionFailed(.noLongerValid):
                "when or where"
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
            var text = grant.prefix.text
            if text.contains("none") {
                guard grant.effect == .deny else { return nil }
                // Nobody knows which keys are denied, so all that begin like the template are.
                text = text.range(of: "${").map { String(text[..<$0.lowerBound]) } ?? ""
            }
            text = text.replacingOccurrences(of: "${sub}", with: "alice")
            text = text.replacingOccurrences(of: "${claim:tenant}", with: "acme")
            let (prefix, key) = (Array(text.utf8), Array(request.key.rawValue.utf8))
            let isFolder = prefix.isEmpty || prefix.last == 47
            let covers =
                switch (request.action, grant.effect) {
                case (.listObjects, .allow): isFolder && key.starts(with: prefix)
                // A listing shows all keys that begin with its prefix.
                case (.listObjects, .deny): prefix.starts(with: key) || isFolder && key.starts(with: prefix)
                default: isFolder ? key.starts(with: prefix) : key == prefix
                }
            return covers ? (grant, prefix) : nil
        }
        let denials = covering.map(\.grant).filter { $0.effect == .deny && $0.notAfter != Fixture.now }
        if denials.contains(where: { $0.notBefore ?? Fixture.now == Fixture.now }) { return "denied" }
        let ranked = covering.filter { $0.grant.effect == .allow }.sorted { left, right in
            func rank(_ match: (grant: Grant, prefix: [UInt8])) -> String {
                let breadth = ["user:alice": 0, "group:g1": 1][match.grant.principal.rawValue] ?? 2
                let isTemplate = match.grant.prefix.text.contains("$") ? 1 : 0
                return "\(900 - match.prefix.count) \(isTemplate) \(breadth) \(match.grant.id)"
            }
            return rank(left) < rank(right)
        }
        let verdicts = ranked.map { (grant: $0.grant, failure: failure($0.grant, request)) }
        guard let winner = verdicts.first(where: { $0.failure == nil })?.grant else {
            return verdicts.first?.failure ?? "denied"
        }
        let ends = denials.compactMap(\.notBefore) + [winner.notAfter].compactMap(\.self)
        let lives = ends.map { Int($0.timeIntervalSince(Fixture.now)) } + [winner.conditions.maxTTL ?? 900, 900]
        return "permit \(winner.id) for \(lives.min() ?? 0) s"
    }

    static func failure(_ grant: Grant, _ request: IssueRequest) -> String? {
        let conditions = grant.conditions
        let isNow = grant.notBefore ?? Fixture.now == Fixture.now && grant.notAfter != Fixture.now
        if !isNow || conditions.sourceCIDRs != nil { return "when or where" }
        switch request.action {
        case .putObject: return failureOfUpload(conditions, request)
        case .getObject:
            if request.response.contentType != nil, conditions.allowResponseContentType != true {
                return "answer: type"
            }
            if request.versionID != nil, conditions.allowVersions != true { return "versions" }
            let isShown = request.response.contentDisposition == "inline"
            return isShown && conditions.forceDownload == true ? "answer: disposition" : nil
        case .listObjects, .deleteObject: return nil
        }
    }

    private static func failureOfUpload(_ conditions: GrantConditions, _ request: IssueRequest) -> String? {
        guard let type = request.contentType?.text else { return nil }
        if let allowed = conditions.contentTypes {
            let isAllowed = allowed == ["image/*"] ? type == "image/png" : type == "text/html"
            if !isAllowed { return "type   \(allowed)" }
        }
        if conditions.requireContentMD5 == true, request.contentMD5 == nil { return "md5" }
        guard let maxBytes = conditions.maxBytes else { return nil }
        guard let length = request.contentLength else { return "length" }
        return length > maxBytes ? "size   \(maxBytes)" : nil
    }
}
