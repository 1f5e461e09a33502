import Foundation
import GatewayCore
import Testing

@Suite struct ExplainerTests {
    /// Policy, its history and a ledger, as set by a test.
    private struct World: PolicyHistory, IssuanceReader, QuotaUsageSource {
        var tables = ScriptedPolicy.Tables()
        var past: [Grant] = []
        var pastGroups: [Principal] = []
        var near: [Grant] = []
        var rows: [RecordedIssuance] = []
        var remaining: Int64 = 100

        init(_ grants: [Grant] = [], quotas: [Quota] = []) throws {
            tables.bucket = try Fixture.bucket()
            tables.credential = Fixture.credential()
            tables.grants = grants
            tables.quotas = quotas
        }

        func explain(
            _ request: (inout IssueRequest.Fields) -> Void = { _ in }, groups: [String] = [],
            claims: [String: String] = [:], from address: String? = nil, at instant: Date? = nil,
            within reach: AdminReach = .unlimited
        ) async throws -> Explanation {
            var fields = IssueRequest.Fields()
            fields.action = "GetObject"
            fields.bucket = "demo-bucket"
            fields.key = "team/photo.png"
            request(&fields)
            return try await explainer.explain(
                ExplainQuestion(
                    subject: Subject(principal: try Principal("user:alice"), claims: claims),
                    groups: try groups.map { try Principal($0) }, fields: fields,
                    sourceAddress: address.flatMap { IPAddress($0) }, at: instant), within: reach)
        }

        var explainer: Explainer {
            Explainer(
                cache: PolicyCache(source: ScriptedPolicy(tables)), usage: self, history: self, issuances: self,
                now: { Fixture.now })
        }

        func usage(of holdings: [QuotaHolding]) async throws(GatewayError) -> [QuotaRemainder] {
            holdings.map { QuotaRemainder(quotaID: $0.quota.id, remaining: remaining, resetsIn: 60) }
        }

        func moment(at instant: Date) async throws(GatewayError) -> PolicyMoment? {
            instant < Fixture.now.addingTimeInterval(-1000) ? nil : PolicyMoment(sequence: 5, at: instant)
        }

        func moment(ofChange sequence: Int64) async throws(GatewayError) -> PolicyMoment? {
            PolicyMoment(sequence: sequence, at: Fixture.now)
        }

        func groups(of principal: Principal, after sequence: Int64) async throws(GatewayError) -> [Principal] {
            pastGroups
        }

        func grants(
            of principals: [Principal], in bucket: BucketName, for key: ObjectKey, listing folder: ExactText?,
            after sequence: Int64
        ) async throws(GatewayError) -> [Grant] {
            past.filter { principals.contains($0.principal) }
        }

        func grant(_ id: UUID, after sequence: Int64) async throws(GatewayError) -> Grant? {
            past.first { $0.id == id }
        }

        func grants(
            near key: ObjectKey, in bucket: BucketName, of principals: [Principal]
        ) async throws(GatewayError) -> [Grant] { near }

        func issuances(_ query: IssuanceQuery) async throws(GatewayError) -> LedgerPage<RecordedIssuance> {
            LedgerPage(items: rows, nextPageToken: nil, range: try query.range(now: Fixture.now))
        }

        func issuance(_ id: UUID) async throws(GatewayError) -> RecordedIssuance {
            guard let row = rows.first(where: { $0.id == id }) else { throw .notFound(.issuance) }
            return row
        }
    }

    private static func reach(_ prefix: String, _ principals: String...) throws -> AdminReach {
        let patterns = try principals.map { try PrincipalPattern($0) }
        return .limited([
            try AdminScope(
                bucket: BucketName("demo-bucket"), prefix: prefix, principals: patterns.isEmpty ? nil : patterns)
        ])
    }

    private static func outcomes(_ explanation: Explanation) -> [String] {
        explanation.matches.map { match in
            switch match.outcome {
            case nil: "-"
            case .permits: "permits"
            case .denies: "denies"
            case .fails(let error): "\(error)"
            }
        }
    }

    @Test func tellsTheGrantThatPermitsAndAllThatMatch() async throws {
        let world = try World([
            Fixture.grant(1, on: ""), Fixture.grant(2, to: "group:staff", on: "team/"),
            Fixture.grant(3, to: "*", on: "team/photo.png", conditions: GrantConditions(sourceCIDRs: ["192.0.2.0/24"])),
            Fixture.grant(4, on: "team/", actions: [.putObject]), Fixture.grant(5, on: "other/"),
        ])
        let explanation = try await world.explain(groups: ["group:staff"], from: "198.51.100.1")
        #expect(explanation.isPermitted && explanation.reason == .granted && explanation.error == nil)
        #expect(explanation.decidedBy?.id == Fixture.id(2) && explanation.permit?.grant.id == Fixture.id(2))
        #expect(explanation.matches.map(\.grant.id) == [Fixture.id(3), Fixture.id(2), Fixture.id(1)])
        #expect(
            Self.outcomes(explanation) == ["\(GatewayError.conditionFailed(.sourceAddress))", "permits", "permits"])
        #expect(explanation.members.map(\.origin) == [.caller, .credential, .everyone])
        #expect(explanation.nearMisses == [] && explanation.assumptions == [])
        #expect(try await world.explain(groups: ["group:staff"]).assumptions == [.sourceUnknown])
        #expect(try await world.explain(groups: ["group:staff"], from: "192.0.2.9").decidedBy?.id == Fixture.id(3))
    }

    @Test func aDenyDecidesAndStandsFirst() async throws {
        let world = try World([
            Fixture.grant(1), Fixture.grant(2, to: "*", on: "", effect: .deny),
            Fixture.grant(3, effect: .deny, until: Fixture.now),
        ])
        let explanation = try await world.explain()
        #expect(explanation.reason == .denied && explanation.decidedBy?.id == Fixture.id(2))
        #expect(explanation.error == .accessDenied)
        #expect(explanation.matches.map(\.grant.id) == [Fixture.id(3), Fixture.id(2), Fixture.id(1)])
        #expect(
            Self.outcomes(explanation) == ["\(GatewayError.conditionFailed(.noLongerValid))", "denies", "permits"])
    }

    @Test func aDenyWithoutAValueForItsVariableDenies() async throws {
        let world = try World([
            Fixture.grant(1), Fixture.grant(2, to: "*", on: "team/${claim:tenant}/", effect: .deny),
        ])
        let explanation = try await world.explain()
        #expect(explanation.reason == .denied && explanation.decidedBy?.id == Fixture.id(2))
        #expect(explanation.matches.map(\.prefix.rawValue) == ["team/", "team/"])
        #expect(Self.outcomes(explanation) == ["denies", "permits"])
        #expect(try await world.explain(claims: ["tenant": "acme"]).isPermitted)
    }

    @Test func namesTheConditionThatFails() async throws {
        let world = try World([
            Fixture.grant(1, conditions: GrantConditions(contentTypes: ["image/*"], maxBytes: 10)),
            Fixture.grant(2, on: "", until: Fixture.now),
        ])
        let explanation = try await world.explain {
            $0.action = "PutObject"
            $0.contentType = "text/plain"
            $0.contentLength = 5
        }
        #expect(explanation.reason == .conditionFailed && explanation.decidedBy?.id == Fixture.id(1))
        #expect(explanation.error == .conditionFailed(.contentType(allowed: ["image/*"])))
        #expect(Self.outcomes(explanation).last == "\(GatewayError.conditionFailed(.noLongerValid))")
        let large = try await world.explain {
            $0.action = "PutObject"
            $0.contentType = "image/png"
            $0.contentLength = 11
        }
        #expect(large.error == .entityTooLarge(maxBytes: 10))
    }

    @Test func findsWhatNearlyMatches() async throws {
        var world = try World([
            Fixture.grant(1, on: "team/", actions: [.putObject]), Fixture.grant(2, on: "team/photos/"),
            Fixture.grant(3, on: "x/"), Fixture.grant(4, on: "tenants/${claim:tenant}/"),
            Fixture.grant(5, on: "x/", actions: [.putObject]),
        ])
        world.near = [
            try Fixture.grant(6, to: "group:editors"), try Fixture.grant(7, to: "group:editors", on: "y/"),
            try Fixture.grant(2, on: "team/photos/"), try Fixture.grant(8, to: "group:editors", effect: .deny),
        ]
        let explanation = try await world.explain()
        #expect(explanation.reason == .notGranted && explanation.matches.isEmpty && explanation.decidedBy == nil)
        #expect(explanation.nearMisses.map(\.grant.id) == [1, 6, 4, 2, 3].map(Fixture.id))
        #expect(explanation.nearMisses.map(\.flaw) == [.action, .principal, .template, .prefix, .prefix])
        let odd = try await world.explain({ $0.key = "tenants/a/b" }, claims: ["tenant": "a/../b"])
        #expect(odd.nearMisses.contains { $0.flaw == .template && $0.grant.id == Fixture.id(4) })
        let good = try await world.explain({ $0.key = "tenants/acme/b" }, claims: ["tenant": "acme"])
        #expect(good.isPermitted && good.matches.map(\.prefix) == [ExactText("tenants/acme/")])
    }

    @Test func `the template of a near miss is filled for the caller`() async throws {
        let world = try World([
            Fixture.grant(1, on: "people/${sub}/"), Fixture.grant(2, on: "tenants/${claim:tenant}/"),
        ])
        let misses = try await world.explain().nearMisses
        #expect(misses.map(\.flaw) == [.template, .prefix])
        #expect(misses.map(\.prefix.rawValue) == ["tenants/${claim:tenant}/", "people/alice/"])
    }

    @Test func `grants outside take no place among the near misses`() async throws {
        var world = try World()
        world.near = try (1...NearMiss.maxCount).map {
            try Fixture.grant($0, to: "group:outside-\($0)", on: "team/photo.png")
        }
        world.near.append(try Fixture.grant(50, to: "group:inside"))
        let limited = try await world.explain(within: Self.reach("team/", "user:alice", "group:inside"))
        #expect(limited.nearMisses.map(\.grant.id) == [Fixture.id(50)])
        #expect(try await world.explain().nearMisses.count == NearMiss.maxCount)
    }

    @Test func explainsWhatNobodyMayAskFor() async throws {
        let world = try World([Fixture.grant(1, on: "")])
        for key in ["a/../b", "/a", "", "a\u{7}", "a/${sub}"] {
            let explanation = try await world.explain { $0.key = key }
            #expect(explanation.reason == .invalidRequest && !explanation.isPermitted)
            guard case .invalidArgument("key", _)? = explanation.error else {
                Issue.record("\(String(describing: explanation.error))")
                continue
            }
        }
        #expect(try await world.explain { $0.bucket = "NO" }.reason == .invalidRequest)
        let crowd = try await world.explain(groups: (0..<600).map { "group:\($0)" })
        #expect(crowd.reason == .unauthenticated && !crowd.isPermitted)
        let unknown = try await world.explain { $0.bucket = "nowhere" }
        #expect(unknown.reason == .noSuchBucket && unknown.error == .accessDenied)
    }

    @Test func `nothing is explained of a bucket that cannot be read, whoever has a grant in it`() async throws {
        var world = try World()
        world.tables.unreadable = [.bucket(try BucketName("demo-bucket"))]
        let stranger = world
        (world.tables.grants, world.past) = ([try Fixture.grant(1)], [try Fixture.grant(1)])
        let holder = world
        for instant in [nil, Fixture.now.addingTimeInterval(-10)] {
            for world in [stranger, holder] {
                await #expect(throws: GatewayError.unavailable(retryAfter: 60)) {
                    try await world.explain(at: instant)
                }
            }
        }
    }

    @Test func `explains a listing that is refused because too many grants lie below its prefix`() async throws {
        var world = try World((1...300).map { try Fixture.grant($0, on: "team/\($0)/", actions: [.listObjects]) })
        let listing: (inout IssueRequest.Fields) -> Void = {
            $0.action = "ListObjects"
            $0.key = nil
            $0.prefix = "team/"
        }
        let explanation = try await world.explain(listing)
        #expect(explanation.reason == .invalidRequest && explanation.error?.code == "NotEnforceable")
        // At an earlier time, these grants were not there.
        world.past = [try Fixture.grant(301, actions: [.listObjects])]
        let earlier = try await world.explain(listing, at: Fixture.now.addingTimeInterval(-100))
        #expect(earlier.isPermitted && earlier.decidedBy?.id == Fixture.id(301), "\(earlier)")
    }

    @Test func weighsQuotasAsRecordingWould() async throws {
        var world = try World([Fixture.grant(1)], quotas: [Fixture.quota(9), Fixture.quota(8, metric: .bytes)])
        let upload: (inout IssueRequest.Fields) -> Void = {
            $0.action = "PutObject"
            $0.contentType = "image/png"
            $0.contentLength = 50
        }
        let explanation = try await world.explain(upload)
        #expect(explanation.isPermitted && explanation.quotas.map(\.takes) == [50, 1])
        #expect(explanation.quotas.map { $0.remainder?.remaining } == [100, 100])
        world.remaining = 49
        let full = try await world.explain(upload)
        #expect(full.reason == .quotaExceeded && !full.isPermitted && full.decidedBy?.id == Fixture.id(1))
        guard case .quotaExceeded(let refusal)? = full.error else {
            Issue.record("no quota is named")
            return
        }
        #expect(refusal.quotaID == Fixture.id(8).lowercaseText && refusal.remaining == 49)
        world.remaining = 50
        #expect(try await world.explain(upload).isPermitted)
        // The limit was lowered below what was used: not even nothing fits.
        world.remaining = -1
        let empty = try await world.explain {
            upload(&$0)
            $0.contentLength = 0
        }
        guard case .quotaExceeded(let lowered)? = empty.error else {
            Issue.record("no quota is named")
            return
        }
        #expect(empty.reason == .quotaExceeded && lowered.quotaID == Fixture.id(8).lowercaseText)
        #expect(lowered.remaining == 0)
    }

    @Test func hidesAQuotaOutsideAlsoWhereItRefuses() async throws {
        var world = try World([Fixture.grant(1)], quotas: [Fixture.quota(8, metric: .bytes)])
        world.remaining = 49
        let upload: (inout IssueRequest.Fields) -> Void = {
            $0.action = "PutObject"
            $0.contentType = "image/png"
            $0.contentLength = 50
        }
        let hidden = try await world.explain(upload, within: Self.reach("team/"))
        #expect(hidden.reason == .quotaExceeded && !hidden.isPermitted)
        #expect(hidden.quotas.isEmpty && hidden.error == nil)
        let shown = try await world.explain(upload, within: Self.reach("team/", "user:alice"))
        #expect(shown.reason == .quotaExceeded && shown.quotas.count == 1)
        guard case .quotaExceeded(let refusal)? = shown.error else {
            Issue.record("no quota is named")
            return
        }
        #expect(refusal.quotaID == Fixture.id(8).lowercaseText)
    }

    @Test func hidesTheConditionsOfAGrantOutside() async throws {
        var world = try World([
            try Fixture.grant(
                1, to: "group:legal", conditions: GrantConditions(contentTypes: ["image/png"], maxBytes: 10, maxTTL: 61)
            )
        ])
        world.tables.members = [try Principal("user:alice"): [try Principal("group:legal")]]
        func upload(_ type: String, _ length: Int64) -> (inout IssueRequest.Fields) -> Void {
            {
                $0.action = "PutObject"
                $0.contentType = type
                $0.contentLength = length
            }
        }
        let reach = try Self.reach("team/", "user:alice")
        for (request, reason) in [(upload("text/html", 5), "conditionFailed"), (upload("image/png", 50), "tooLarge")] {
            let hidden = try await world.explain(request, within: reach)
            #expect(hidden.decidedBy == nil && hidden.error == nil && !hidden.isPermitted, "\(reason)")
            let shown = try await world.explain(request)
            #expect(shown.decidedBy != nil && shown.error != nil && hidden.reason == shown.reason, "\(reason)")
        }
        let permitted = try await world.explain(upload("image/png", 5), within: reach)
        #expect(permitted.isPermitted && permitted.permit == nil && permitted.decidedBy == nil)
        #expect(try await world.explain(upload("image/png", 5)).permit != nil)
    }

    @Test func tellsNoConditionOfAGrantOutsideByWhatElseItShows() async throws {
        let quota = try Fixture.quota(8, metric: .bytes)
        let network = GrantConditions(contentTypes: ["image/png"], maxBytes: 10, sourceCIDRs: ["10.0.0.0/8"])
        for (who, isVisible) in [("group:legal", false), ("user:alice", true)] {
            var world = try World([try Fixture.grant(1, to: who, conditions: network)], quotas: [quota])
            world.remaining = 1000
            world.tables.members = [try Principal("user:alice"): [try Principal("group:legal")]]
            let upload: (inout IssueRequest.Fields) -> Void = {
                $0.action = "PutObject"
                $0.contentType = "image/png"
            }
            let reach = try Self.reach("team/", "user:alice")
            let seen = try await world.explain(upload, within: reach)
            #expect(seen.assumptions.contains(.sourceUnknown) == isVisible, "\(who)")
            #expect(try await world.explain(upload).assumptions.contains(.sourceUnknown))
        }
        var world = try World(
            [try Fixture.grant(1, to: "group:legal", conditions: GrantConditions(contentTypes: ["image/png"]))],
            quotas: [quota])
        world.remaining = 1000
        world.tables.members = [try Principal("user:alice"): [try Principal("group:legal")]]
        let upload: (inout IssueRequest.Fields) -> Void = {
            $0.action = "PutObject"
            $0.contentType = "image/png"
            $0.contentLength = 7
        }
        #expect(try await world.explain(upload).quotas.map(\.takes) == [7])
        let hidden = try await world.explain(upload, within: Self.reach("team/", "user:alice"))
        #expect(hidden.isPermitted && hidden.quotas.count == 1 && hidden.quotas.first?.takes == nil)
    }

    @Test func showsADelegatedAdminTheGroupsWhoseRowsItShows() async throws {
        var world = try World([
            Fixture.grant(1, to: "group:inside"), Fixture.grant(2, to: "group:outside", on: ""),
            Fixture.grant(3, to: "group:named", on: ""),
        ])
        let groups = ["group:inside", "group:outside", "group:named", "group:none"]
        world.tables.members = [try Principal("user:alice"): try groups.map { try Principal($0) }]
        func members(_ reach: AdminReach, asked: [String] = []) async throws -> Set<String> {
            Set(try await world.explain(groups: asked, within: reach).members.map(\.principal.rawValue))
        }
        #expect(try await members(.unlimited) == Set(["user:alice", "*"] + groups))
        #expect(try await members(Self.reach("team/")) == ["user:alice", "group:inside", "*"])
        #expect(try await members(Self.reach("team/", "user:a*", "group:named")) == ["user:alice", "group:named"])
        // What the admin has said is not kept from the admin.
        #expect(
            try await members(Self.reach("team/"), asked: ["group:token"])
                == ["user:alice", "group:token", "group:inside", "*"])
    }

    @Test func goesBackInTime() async throws {
        var world = try World([Fixture.grant(1, effect: .deny)])
        world.past = [try Fixture.grant(2, to: "group:old", until: Fixture.now.addingTimeInterval(-10))]
        world.pastGroups = [try Principal("group:old")]
        let then = Fixture.now.addingTimeInterval(-100)
        let explanation = try await world.explain(at: then)
        #expect(explanation.isPermitted && explanation.decidedBy?.id == Fixture.id(2))
        #expect(explanation.members.map(\.origin) == [.caller, .membership, .everyone])
        #expect(explanation.moment == PolicyMoment(sequence: 5, at: then) && !explanation.isCurrent)
        #expect(explanation.assumptions == [.bucketAsNow])
        #expect(try await world.explain(at: Fixture.now).reason == .conditionFailed, "it has ended since")
        #expect(try await world.explain().reason == .denied)
        for instant in [Fixture.now.addingTimeInterval(1), Fixture.now.addingTimeInterval(-5000)] {
            await #expect(throws: GatewayError.self) { try await world.explain(at: instant) }
        }
    }

    @Test func tellsWhySomethingWasIssued() async throws {
        var world = try World()
        let template = try Fixture.grant(2, to: "group:tenants", on: "tenants/${claim:tenant}/")
        world.past = [template, try Fixture.grant(3, on: "tenants/acme/"), try Fixture.grant(4, on: "else/")]
        let row = RecordedIssuance(
            id: Fixture.id(77), issuedAt: Fixture.now, expiresAt: Fixture.now, delivery: "presigned-url",
            principal: "user:alice", matchedPrincipal: "group:tenants", grantID: template.id,
            credentialID: Fixture.id(500), actions: ["GetObject"], method: "GET", bucket: "demo-bucket",
            key: "tenants/acme/a.pdf", requestID: "r", policySequence: 4,
            charges: [.init(quotaID: Fixture.id(9), amount: 1)])
        world.rows = [row]
        let explanation = try await world.explainer.explain(issuance: row.id, within: .unlimited)
        #expect(explanation.isPermitted && explanation.reason == .recorded && explanation.issuance == row)
        #expect(explanation.decidedBy == template && explanation.moment?.sequence == 4)
        #expect(explanation.members.map(\.origin) == [.caller, .ledger, .everyone])
        #expect(Set(explanation.matches.map(\.grant.id)) == [template.id, Fixture.id(3)])
        #expect(explanation.matches.first { $0.grant.id == template.id }?.prefix == ExactText("tenants/acme/"))
        #expect(Set(Self.outcomes(explanation)) == ["permits", "-"])
        await #expect(throws: GatewayError.notFound(.issuance)) {
            try await world.explainer.explain(issuance: Fixture.id(78), within: .unlimited)
        }
        // The row names the group that matched; another of the caller's groups shows nothing inside.
        world.pastGroups = [try Principal("group:tenants"), try Principal("group:others")]
        var query = IssuanceQuery()
        #expect(try await world.shownIssuances(query).items == [row])
        query.filter.reach = try Self.reach("tenants/acme/")
        let limited = try await world.explainer.explain(issuance: row.id, within: query.filter.reach)
        // The quota may lie outside.
        var uncharged = row
        uncharged.charges = []
        #expect(limited.decidedBy == nil && limited.issuance == uncharged)
        #expect(try await world.shownIssuances(query).items == [uncharged])
        #expect(limited.members.map(\.principal.rawValue) == ["user:alice", "group:tenants", "*"])
    }
}
