import Foundation
import LibCrypto
import Testing

@testable import GatewayCore

/// Requests that are answered together, each one independently.
@Suite(.timeLimit(.minutes(1))) struct PresignedURLBatchTests {
    let alice: Principal
    let source: ScriptedPolicy
    let cache: PolicyCache

    init() throws {
        alice = try Principal("user:alice")
        var tables = ScriptedPolicy.Tables()
        tables.bucket = try Fixture.bucket()
        tables.credential = Fixture.credential()
        tables.grants = [try Fixture.grant(1)]
        tables.apiKeys = [
            APIKey(
                id: Fixture.id(900), prefix: "k", hash: Digest(), name: "n", principal: alice, createdAt: Fixture.now)
        ]
        source = ScriptedPolicy(tables)
        cache = PolicyCache(source: source)
    }

    func issue(
        _ requests: [IssueRequest], _ ledger: ScriptedLedger, cache: PolicyCache? = nil
    ) async throws -> [Result<IssuedURL, GatewayError>] {
        let cache = cache ?? self.cache
        let authenticator = CacheAuthenticator(cache: cache)
        let urls = PresignedURLs(
            ProvenIssuing(
                cache: cache, authenticator: authenticator, ledger: ledger, now: { Fixture.now },
                randomBytes: { [UInt8](repeating: 1, count: $0) }))
        return try await urls.issue(
            requests, in: .test(authenticator.authenticate(Secret("k")))
        )
    }

    @Test func `a batch is a few calls to the ledger, in order`() async throws {
        let ledger = ScriptedLedger()
        let requests = try (0..<1000).map { try Fixture.get("team/\($0)") }
        let results = try await issue(requests, ledger)
        #expect(ledger.calls == Array(repeating: 128, count: 7) + [104])
        #expect(try results.map { try $0.get().key } == requests.map(\.key))
        #expect(try results.map { try $0.get().id } == ledger.proposals.map(\.id))
        #expect(try results.allSatisfy { try $0.get().url.reveal().contains("/\($0.get().key)?X-Amz-") })
    }

    /// Asks for listings, as a caller of whom only two grants are held together; returns the errors.
    private func list(_ prefixes: [String]) async throws -> [GatewayError?] {
        try source.change([.principal(alice)]) { tables in
            tables.grants = try [1: "team/", 2: "other/", 3: "more/"].map { number, prefix in
                var grant = try Fixture.grant(number, on: prefix, actions: [.listObjects])
                grant.principal = alice
                return grant
            }
        }
        let requests = try prefixes.map { prefix in
            try Fixture.get { fields in
                (fields.action, fields.key, fields.prefix) = ("ListObjects", nil, prefix)
            }
        }
        let cache = PolicyCache(source: source, limits: .init(literalGrantLimit: 2))
        return try await issue(requests, ScriptedLedger(), cache: cache).map(\.error)
    }

    @Test func `the grants of a folder are read once for all its listings`() async throws {
        let errors = try await list((0..<100).map { "team/\($0 % 7)" })
        #expect(errors == Array(repeating: nil, count: 100))
        #expect(source.now.folderLoads == [ExactText("team/")])
    }

    @Test func `the grants of a refused folder are read once for each attempt`() async throws {
        let errors = try await list(Array(repeating: "secret/", count: 100))
        #expect(errors == Array(repeating: .accessDenied, count: 100))
        #expect(source.now.folderLoads.count == 2)
    }

    @Test func `a folder whose grants are too many is read once for each attempt`() async throws {
        let cache = PolicyCache(source: source, limits: .init(literalGrantLimit: 2))
        try source.change([.principal(alice)]) { tables in
            tables.grants = try (1...3).map { try Fixture.grant($0, on: "team/\($0)/", actions: [.listObjects]) }
        }
        let requests = try Array(repeating: "team/", count: 100).map { prefix in
            try Fixture.get { fields in
                (fields.action, fields.key, fields.prefix) = ("ListObjects", nil, prefix)
            }
        }
        let errors = try await issue(requests, ScriptedLedger(), cache: cache).map(\.error)
        #expect(errors.allSatisfy { $0?.code == "NotEnforceable" })
        #expect(1...2 ~= source.now.folderLoads.count)
    }

    @Test func `the grants of few folders are read for one batch`() async throws {
        let errors = try await list((0..<1000).map { "team/\($0)/" })
        #expect(source.now.folderLoads.count == ProvenIssuing.maxFolders)
        #expect(errors.prefix(ProvenIssuing.maxFolders).allSatisfy { $0 == nil })
        #expect(errors.dropFirst(ProvenIssuing.maxFolders).allSatisfy { $0?.code == "InvalidArgument" })
    }

    /// The grants of listings are read while nothing else waits for them.
    @Test func `objects are answered before the grants of listings are read`() async throws {
        let cache = PolicyCache(source: source, limits: .init(literalGrantLimit: 2))
        try source.change([.principal(alice)]) { tables in
            tables.grants = try (1...3).map {
                try Fixture.grant($0, on: "team/\($0)/", actions: [.getObject, .listObjects])
            }
        }
        let listings = try (1...3).map { number in
            try Fixture.get { fields in
                (fields.action, fields.key, fields.prefix) = ("ListObjects", nil, "team/\(number)/")
            }
        }
        let requests = try [listings[0], Fixture.get("team/1/a"), listings[1], listings[2], Fixture.get("team/2/a")]
        let ledger = ScriptedLedger()
        let results = try await issue(requests, ledger, cache: cache)
        #expect(results.allSatisfy { $0.error == nil })
        #expect(ledger.calls == [2, 1, 1, 1])
        #expect(ledger.proposals.map(\.action) == [.getObject, .getObject, .listObjects, .listObjects, .listObjects])
        #expect(try results.map { try $0.get().listing != nil } == requests.map { $0.listing != nil })
    }

    @Test func `nothing asks the ledger for nothing`() async throws {
        let ledger = ScriptedLedger()
        #expect(try await issue([], ledger).isEmpty)
        #expect(ledger.proposals.isEmpty)
    }

    @Test func `what is refused stands between what is issued`() async throws {
        let quota = QuotaRefusal(quotaID: "q", metric: .urls, period: .day, limit: 1, remaining: 0, resetsIn: 5)
        let ledger = ScriptedLedger { proposal, _ throws(GatewayError) in
            switch proposal.key.rawValue {
            case "team/full": return .quotaExceeded(quota)
            case "team/lost": throw .unavailable(retryAfter: 7)
            default: return .recorded(remaining: [])
            }
        }
        let keys = ["team/1", "secret/x", "team/full", "team/lost", "team/2"]
        let results = try await issue(keys.map { try Fixture.get($0) }, ledger)
        #expect(results.map(\.error) == [nil, .accessDenied, .quotaExceeded(quota), .unavailable(retryAfter: 7), nil])
        #expect(ledger.calls == [4])
        #expect(ledger.denials.map(\.code).sorted() == ["AccessDenied", "QuotaExceeded"])
    }

    @Test func `only what is stale is decided again`() async throws {
        let ledger = ScriptedLedger { [source, alice] proposal, number in
            guard number == 1 else { return .recorded(remaining: []) }
            source.change([.principal(alice)]) { tables in
                tables.grants.append(try! Fixture.grant(2, on: "team/b", effect: .deny))
            }
            return .stale
        }
        let results = try await issue(["team/a", "team/b", "team/c"].map { try Fixture.get($0) }, ledger)
        #expect(ledger.proposals.map(\.key.rawValue) == ["team/a", "team/b", "team/c"])
        #expect(throws: GatewayError.accessDenied) { try results[1].get() }
        #expect(try results[2].get().key.rawValue == "team/c")
    }

    @Test func `a key revoked meanwhile ends what is left, and not what is on record`() async throws {
        let ledger = ScriptedLedger { [source] _, number in
            guard number == 1 else { return .recorded(remaining: []) }
            source.change([.apiKey(prefix: "k")]) { $0.apiKeys = [] }
            return .stale
        }
        let results = try await issue(["team/a", "team/b"].map { try Fixture.get($0) }, ledger)
        #expect(try results[0].get().key.rawValue == "team/a")
        #expect(throws: GatewayError.unauthenticated(reason: "There is no such key.")) { try results[1].get() }
    }

    @Test func `a policy that is not there fails every item, and counts none`() async throws {
        let cache = PolicyCache(source: source)
        _ = try await cache.apiKey(prefix: "k")
        source.set { $0.error = .unavailable(retryAfter: 3) }
        let ledger = ScriptedLedger()
        let results = try await issue(try [Fixture.get(), Fixture.get()], ledger, cache: cache)
        for result in results { #expect(throws: GatewayError.unavailable(retryAfter: 3)) { try result.get() } }
        #expect(ledger.denials.isEmpty)
    }

    @Test func `grants that are looked up by place are loaded for many items at once`() async throws {
        try source.change([.principal(alice)]) { tables in
            tables.grants = try (0..<300).map { try Fixture.grant($0 + 1, on: "team/\($0)/") }
        }
        let cache = PolicyCache(source: source, limits: PolicyCache.Limits(literalGrantLimit: 256))
        let results = try await issue(
            try (0..<300).map { try Fixture.get("team/\($0)/x") }, ScriptedLedger(), cache: cache)
        #expect(results.allSatisfy { (try? $0.get()) != nil })
        #expect(source.now.placeLoads.count == 1)
    }

    @Test(
        arguments: [("", nil, ""), ("team/", "png", ".png"), ("team/x/", "tar.gz", ".tar.gz")]
            as [(String, String?, String)])
    func `the gateway names what is left to it`(prefix: String, ending: String?, tail: String) async throws {
        var fields = IssueRequest.Fields()
        fields.action = "PutObject"
        fields.bucket = "demo-bucket"
        fields.keyPrefix = prefix
        fields.keyExtension = ending
        fields.contentType = "image/png"
        let urls = PresignedURLs(
            ProvenIssuing(
                cache: cache, authenticator: CacheAuthenticator(cache: cache), ledger: ScriptedLedger(),
                now: { Fixture.now }, randomBytes: { [UInt8](repeating: 0xff, count: $0) }))
        let context = RequestContext.test(
            try await CacheAuthenticator(cache: cache).authenticate(Secret("k")))
        #expect(
            try urls.request(fields, in: context).key.rawValue == prefix + "018f85ac-1b40-7fff-bfff-ffffffffffff" + tail
        )
    }

    @Test(
        arguments: [
            BadField("keyPrefix", { $0.keyPrefix = "team" }), BadField("keyPrefix", { $0.keyPrefix = "/" }),
            BadField("keyPrefix", { $0.keyPrefix = "a//" }), BadField("keyPrefix", { $0.keyPrefix = "../" }),
            BadField("keyPrefix", { $0.keyPrefix = String(repeating: "a", count: 990) + "/" }),
            BadField("keyExtension", { $0.keyExtension = "" }), BadField("keyExtension", { $0.keyExtension = ".png" }),
            BadField("keyExtension", { $0.keyExtension = "a/b" }),
            BadField("keyExtension", { $0.keyExtension = "a..b" }),
            BadField("keyExtension", { $0.keyExtension = String(repeating: "a", count: 33) }),
            BadField("key", { $0.key = "team/a" }),
            BadField("keyExtension", { fields in (fields.key, fields.keyPrefix) = ("team/a", nil) }),
            BadField("keyPrefix", { fields in (fields.action, fields.contentType) = ("GetObject", nil) }),
            BadField("key", { fields in (fields.keyPrefix, fields.keyExtension) = (nil, nil) }),
        ])
    func `a name that cannot be made is refused`(bad: BadField) throws {
        var fields = IssueRequest.Fields()
        fields.action = "PutObject"
        fields.bucket = "demo-bucket"
        fields.keyPrefix = "team/"
        fields.keyExtension = "png"
        fields.contentType = "image/png"
        #expect(refusedField { try IssueRequest(fields) { Fixture.id(1) } } == nil)
        #expect(refusedField { try IssueRequest(fields) } == "keyPrefix")
        bad.change(&fields)
        #expect(refusedField { try IssueRequest(fields) { Fixture.id(1) } } == bad.field)
    }
}

extension Result where Failure == GatewayError {
    /// The error of a failure.
    fileprivate var error: GatewayError? {
        if case .failure(let error) = self { error } else { nil }
    }
}
