import Foundation
import TestSupport
import Testing

@testable import GatewayCore

/// Denies that begin later: nothing that is issued before outlives their beginning.
@Suite struct DenyStartTests {
    private static let wanted = 30

    private static func requests() throws -> [(String, IssueRequest)] {
        var list = IssueRequest.Fields()
        (list.action, list.bucket, list.prefix) = ("ListObjects", "demo-bucket", "team/a/")
        var delete = IssueRequest.Fields()
        (delete.action, delete.bucket, delete.key) = ("DeleteObject", "demo-bucket", "team/a/b")
        var get = IssueRequest.Fields()
        (get.action, get.bucket, get.key) = ("GetObject", "demo-bucket", "team/a/b")
        (list.expiresIn, delete.expiresIn, get.expiresIn) = (wanted, wanted, wanted)
        return [
            ("list", try IssueRequest(list)), ("delete", try IssueRequest(delete)), ("get", try IssueRequest(get)),
            ("redirect", try IssueRequest(get, delivery: .redirect)),
            ("put", try Fixture.put("team/a/b") { $0.expiresIn = wanted }),
        ]
    }

    /// Some grants that allow, and some that deny from or until different times.
    private static func grants(_ random: inout SeededGenerator) throws -> [Grant] {
        let places = ["", "team/", "team/a/", "team/a/b", "team/a/b/", "team/b/", "team/${sub}/", "team/${claim:x}/"]
        let principals = ["user:alice", "group:staff", "*", "user:bob"]
        return try (1...8).map { number in
            let isDeny = number > 3
            func time(_ shortest: Int) -> Date {
                let tenths = Int.random(in: shortest...shortest + 400, using: &random)
                return Fixture.now.addingTimeInterval(TimeInterval(tenths) / 10)
            }
            let begins = isDeny ? time(-10) : nil
            let ends = Bool.random(using: &random) ? time(410) : nil
            return try Fixture.grant(
                number, to: isDeny ? principals.randomElement(using: &random) ?? "*" : "user:alice",
                on: isDeny ? places.randomElement(using: &random) ?? "" : "team/", actions: Set(Action.allCases),
                effect: isDeny ? .deny : .allow, from: begins, until: isDeny ? ends : nil)
        }
    }

    /// The seconds until the first of the grants denies a request of Alice, who has no claim `x`; 0 if one does so now.
    /// Each place is told by hand.
    private static func secondsLeft(_ grants: [Grant], _ name: String) -> Int {
        let onKey: Set = ["", "team/", "team/a/", "team/a/b", "team/${claim:x}/"]
        let denying = name == "list" ? onKey.union(["team/a/b/"]) : onKey
        let starts = grants.filter { grant in
            grant.effect == .deny && denying.contains(grant.prefix.text)
                && ["user:alice", "group:staff", "*"].contains(grant.principal.rawValue)
                && grant.notAfter ?? .distantFuture > Fixture.now
        }.map { $0.notBefore?.timeIntervalSince(Fixture.now) ?? 0 }
        return starts.map { max(0, Int($0.rounded(.down))) }.min() ?? .max
    }

    /// Decides again in each second of the life, and in the one after it.
    @Test func `A life ends where the same request would be refused, and not before`() throws {
        var random = SeededGenerator(seed: 11)
        var cuts: [String: Int] = [:]
        for _ in 0..<300 {
            let grants = try Self.grants(&random)
            for window in [0, 3600] {
                var bucket = try Fixture.bucket()
                (bucket.stableLinkWindow, bucket.allowsRedirects) = (window, true)
                let policy = try Fixture.policy(grants: grants, bucket: bucket)
                for (name, request) in try Self.requests() {
                    func error(after seconds: Int) throws -> GatewayError? {
                        try Fixture.decided(
                            request, under: policy, at: Fixture.now.addingTimeInterval(TimeInterval(seconds))
                        ).error
                    }
                    let left = Self.secondsLeft(grants, name)
                    #expect(try (error(after: 0) == .accessDenied) == (left == 0), "\(name) \(left)")
                    guard left > 0 else { continue }
                    let permit = try Fixture.decided(request, under: policy).permit
                    #expect(permit.expiresIn <= left, "\(name) \(left)")
                    #expect(window > 0 || permit.expiresIn == min(left, Self.wanted), "\(name) \(left)")
                    for second in 1..<permit.expiresIn where second <= 50 {
                        #expect(try error(after: second) == nil, "\(name) \(permit.expiresIn) \(second)")
                    }
                    guard permit.expiryOrigin == .denyStart else { continue }
                    #expect(try error(after: permit.expiresIn) == .accessDenied, "\(name) \(permit.expiresIn)")
                    cuts[name, default: 0] += 1
                }
            }
        }
        #expect(cuts.count == 5 && cuts.values.allSatisfy { $0 > 50 }, "\(cuts)")
    }
}
