import Foundation
import Signing
import Testing

@testable import GatewayCore

/// Everything issued binds all that was decided. The test reads it as a store does, with no code of the gateway's.
///
/// ``SessionPolicyComparisonTests`` tests session policies in the same way.
@Suite("What is given, read as a store reads it", .timeLimit(.minutes(10)))
struct BindingPropertyTests {
    private static let environment = ProcessInfo.processInfo.environment
    /// `SLUICE_TEST_BINDINGS`: number of links of each delivery and scheme. With RSA, half of that.
    private static let count = environment["SLUICE_TEST_BINDINGS"].flatMap { Int($0) } ?? 12
    private static let seed = environment["SLUICE_TEST_SEED"].flatMap { UInt64($0) } ?? .random(in: 0..<1 << 32)

    private struct Issuing {
        let urls: PresignedURLs
        let caller: Caller
        let ledger = ScriptedLedger()

        init(_ tables: ScriptedPolicy.Tables) async throws {
            let cache = PolicyCache(source: ScriptedPolicy(tables))
            let authenticator = CacheAuthenticator(cache: cache)
            urls = PresignedURLs(
                ProvenIssuing(
                    cache: cache, authenticator: authenticator, ledger: ledger, now: { Fixture.now },
                    randomBytes: { [UInt8](repeating: 7, count: $0) }))
            caller = try await authenticator.authenticate(Secret("k"))
        }
    }

    /// The issued URL; `nil` where it is refused.
    private func issued(_ world: GeneratedWorld) async throws -> IssuedURL? {
        let request = try world.request()
        let issuing = try await Issuing(world.tables())
        let result: Result<IssuedURL, GatewayError>
        if world.delivery == .batch || world.delivery == .batchOfListings {
            result = await issuing.urls.issue(
                [request], in: .test(issuing.caller))[0]
        } else {
            do {
                result = .success(
                    try await issuing.urls.issue(
                        request, in: .test(issuing.caller))
                )
            } catch {
                result = .failure(error)
            }
        }
        switch result {
        case .success(let url):
            let proposal = try #require(issuing.ledger.proposals.last)
            if let bytes = world.boundBytes {
                for charge in proposal.charges where charge.quota.metric == .bytes { #expect(charge.amount >= bytes) }
            }
            let counted = proposal.charges.filter { $0.quota.metric == .urls }.map(\.quota.id)
            #expect(counted == world.expectedQuotas, "\(world)")
            return url
        case .failure(let error):
            if case .unproven(let gap) = error { Issue.record("no proof of \(gap): \(world)") }
            #expect(issuing.ledger.proposals.isEmpty)
            #expect(world.offence != nil, "refused without need, \(error): \(world)")
            return nil
        }
    }

    @Test(
        "binds method, key, life, each header and each parameter, in links of every delivery and scheme",
        arguments: Bucket.Scheme.allCases)
    func links(scheme: Bucket.Scheme) async throws {
        let goal = scheme.credentialKind == .serviceAccount ? max(1, Self.count / 2) : Self.count
        for (place, delivery) in GeneratedWorld.Delivery.allCases.enumerated() {
            func drawn(_ number: Int) throws -> GeneratedWorld {
                try GeneratedWorld(
                    seed: Self.seed, number: place * 1_000_000 + number, scheme: scheme, delivery: delivery)
            }
            let isPossible = try drawn(0).isPossible
            var missing = try drawn(0).essentials
            var given = 0
            for number in 0..<(isPossible ? 1000 : 1) * goal {
                if isPossible, given >= goal, missing.isEmpty { break }
                let world = try drawn(number)
                // Once there are enough, only links that show something new are worth their signatures.
                if given >= goal, missing.isDisjoint(with: world.traits) { continue }
                guard let url = try await issued(world) else { continue }
                given += 1
                missing.subtract(world.traits)
                try check(url, world)
            }
            #expect(
                isPossible ? given >= goal && missing.isEmpty : given == 0,
                "\(delivery): \(given) links, none with \(missing), SLUICE_TEST_SEED=\(Self.seed)")
        }
    }

    private func check(_ issued: IssuedURL, _ world: GeneratedWorld) throws {
        #expect(world.offence == nil, "\(world.offence ?? ""): \(world)")
        let store = world.store
        let url = issued.url.reveal()
        var sent: [String: String] = [:]
        for header in issued.headers { sent[header.name] = header.value }
        let headers = sent
        let request = StoreReading.Request(method: world.expectedMethod, url: url, headers: headers)
        func expectRefused(_ what: String, _ change: (inout StoreReading.Request) -> Void) throws {
            var other = request
            change(&other)
            #expect(try !store.accepts(other), "\(what) is not bound: \(world)")
        }
        #expect(try store.accepts(request), "refused as it stands: \(world) \(url)")
        #expect(headers == world.expectedHeaders, "\(world)")
        #expect(url.hasPrefix(world.expectedFront), "\(world) \(url)")
        let meaning = store.meaning(of: url)
        #expect(meaning.key == world.expectedKey && meaning.query == world.expectedQuery, "\(world) \(url)")
        let end = try store.end(of: url)
        #expect(TimeInterval(end) == issued.expiresAt.timeIntervalSince1970)
        #expect(end == world.expectedEnd, "\(world)")
        #expect(end - Int(Fixture.now.timeIntervalSince1970) == issued.expiresIn, "\(world)")

        for method in ["GET", "PUT", "HEAD", "POST", "DELETE"] where method != request.method {
            try expectRefused(method) { $0.method = method }
        }
        try expectRefused("key") { $0.url = url.replacing("?", with: "x?", maxReplacements: 1) }
        for (name, value) in headers {
            try expectRefused(name) { $0.headers[name] = value + "1" }
            try expectRefused("absence of \(name)") { $0.headers[name] = nil }
        }
        for (name, value) in meaning.query {
            let pair = "\(PlainPercent.encoded(name))=\(PlainPercent.encoded(value))"
            try expectRefused(name) { request in
                request.url = url.replacing(value.isEmpty ? name : pair, with: pair + "1", maxReplacements: 1)
                if request.url == url { Issue.record("\(name) is not where it is expected: \(url)") }
            }
        }
        let paging = world.isListing ? ["prefix", "delimiter", "continuation-token", "start-after", "versions"] : []
        for added in ["versionId", "response-content-type", "uploads", "acl"] + paging where meaning.query[added] == nil
        {
            // Google's version 2 does not sign these parameters. It serves only grants that leave them open.
            if world.scheme == .gcsV2RSA, added.hasPrefix("response-") { continue }
            try expectRefused("added \(added)") { $0.url = url + "&\(added)=x" }
        }
        for life in ["Expires=", "expires="] where url.contains(life) {
            try expectRefused("life") { $0.url = url.replacing(life, with: life + "1", maxReplacements: 1) }
        }
    }
}
