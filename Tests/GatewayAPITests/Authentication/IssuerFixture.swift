import Foundation
import GatewayCore
import InMemoryLogging
import Logging
import Synchronization
import TestSupport

@testable import GatewayAPI

/// An authenticator over rows, keys and a clock that the test controls.
struct IssuerFixture {
    static let start = 1_900_000_000.0
    static let url = "https://id.example/keys"

    let policy: IdentityPolicy
    let fetcher = ScriptedFetcher()
    let clock = TestClock(Self.start)
    let cache: PolicyCache
    let logs = InMemoryLogHandler()
    let authenticator: TokenAuthenticator

    init(
        _ issuers: [Issuer] = [], apiKeys: [APIKey] = [],
        limits: TokenAuthenticator.Limits = TokenAuthenticator.Limits()
    ) {
        policy = IdentityPolicy(issuers: issuers, apiKeys: apiKeys)
        cache = PolicyCache(source: policy)
        let (clock, logs) = (clock, logs)
        var logger = Logger(label: "test") { _ in logs }
        logger.logLevel = .trace
        authenticator = TokenAuthenticator(
            cache: cache, fetcher: fetcher, limits: limits,
            now: { Date(timeIntervalSince1970: clock.value) }, logger: logger)
    }

    func caller(_ token: String) async throws -> Caller {
        try await authenticator.authenticate(Secret(token))
    }

    /// The error of a refusal; `nil` where the token is accepted.
    func refusal(_ token: String) async -> GatewayError? {
        do throws(GatewayError) {
            _ = try await authenticator.authenticate(Secret(token))
            return nil
        } catch {
            return error
        }
    }

    /// An issuer with these keys, for audience `sluice`.
    static func issuer(
        keys: Issuer.Keys = .url(url), algorithms: [String] = ["ES256"], id: Int = 1,
        name: String = "https://id.example",
        change: (inout Issuer) -> Void = { _ in }
    ) -> Issuer {
        var issuer = Issuer(
            id: uuid("018f0000-0000-7000-8000-00000000000\(id)"), issuer: name, audiences: ["sluice"],
            algorithms: algorithms, keys: keys, principalPrefix: "", groupPrefix: "",
            createdAt: Date(timeIntervalSince1970: start))
        change(&issuer)
        return issuer
    }

    /// Claims of a valid token that lasts an hour, with the test's changes.
    static func claims(_ changes: [String: String?] = [:]) -> String {
        var members = [
            "iss": "\"https://id.example\"", "aud": "\"sluice\"", "sub": "\"alice\"", "exp": "\(Int(start) + 3600)",
        ]
        for (name, value) in changes { members[name] = value }
        return "{" + members.map { "\"\($0.key)\":\($0.value)" }.joined(separator: ",") + "}"
    }
}

/// A clock that the test sets, in seconds since 1970.
final class TestClock: Sendable {
    private let seconds: Mutex<Double>

    init(_ seconds: Double) {
        self.seconds = Mutex(seconds)
    }

    var value: Double {
        get { seconds.withLock { $0 } }
        set { seconds.withLock { $0 = newValue } }
    }
}

/// Issuers and API keys in a table, with a log of changes.
final class IdentityPolicy: KeyedPolicy {
    private struct Tables {
        var issuers: [Issuer]
        /// The revision of every issuer; each change makes another.
        var revision = UUID()
        var apiKeys: [APIKey]
        var tickets: [Ticket] = []
        var log: [(position: PolicyPosition, scopes: Set<PolicyScope>)] = [(StubPolicy.position, [])]
        var loads = 0
    }

    private let tables: Mutex<Tables>

    init(issuers: [Issuer], apiKeys: [APIKey]) {
        tables = Mutex(Tables(issuers: issuers, apiKeys: apiKeys))
    }

    /// Number of times that rows were requested.
    var loads: Int { tables.withLock { $0.loads } }
    /// The newest position in the log.
    var position: PolicyPosition { tables.withLock { $0.log[$0.log.count - 1].position } }

    /// Commits a change of policy.
    func change(_ scope: PolicyScope, _ write: @Sendable (inout [Issuer], inout [APIKey]) -> Void) {
        tables.withLock { tables in
            write(&tables.issuers, &tables.apiKeys)
            tables.revision = UUID()
            let next = PolicyPosition(sequence: Int64(tables.log.count + 1), tag: UUID())
            tables.log.append((next, [scope]))
        }
    }

    /// Adds a ticket, which is not a change of policy.
    func add(_ ticket: Ticket) {
        tables.withLock { $0.tickets.append(ticket) }
    }

    /// Revokes a ticket.
    func revoke(_ name: String) {
        change(.ticket(name: name)) { _, _ in }
        tables.withLock { $0.tickets.removeAll { $0.name == name } }
    }

    func load(
        _ keys: [PolicyKey], literalGrantLimit: Int
    ) async throws(GatewayError) -> PolicyLoad<[PolicyRows]> {
        tables.withLock { tables in
            tables.loads += 1
            let rows = keys.map { key -> PolicyRows in
                switch key {
                case .principal: .principal(PrincipalRows())
                case .bucket: .bucket(nil)
                case .credential: .credential(nil)
                case .issuer(let name):
                    .issuer(
                        tables.issuers.first { ExactText($0.issuer) == name }
                            .map { Stored(row: $0, revision: tables.revision) })
                case .apiKey(let prefix): .apiKey(tables.apiKeys.first { $0.prefix == prefix })
                case .ticket(let name): .ticket(tables.tickets.first { $0.name == name })
                }
            }
            return PolicyLoad(position: tables.log[tables.log.count - 1].position, rows: rows)
        }
    }

    func changes(since position: PolicyPosition?) async throws(GatewayError) -> PolicyChanges {
        tables.withLock { tables in
            let last = tables.log[tables.log.count - 1].position
            guard let index = tables.log.firstIndex(where: { $0.position == position }) else {
                return .restart(at: last)
            }
            return .scopes(tables.log[(index + 1)...].reduce(into: []) { $0.formUnion($1.scopes) }, upTo: last)
        }
    }
}

/// Answers with documents that the test sets. An issuer without a document is down.
final class ScriptedFetcher: KeySetFetcher {
    private struct State {
        var documents: [String: String] = [:]
        var calls = 0
        var hold: (@Sendable () async -> Void)?
    }

    private let state = Mutex(State())

    /// Number of times that a document was requested.
    var calls: Int { state.withLock { $0.calls } }

    /// Sets the document behind a URL.
    func serve(_ document: String?, at url: String = IssuerFixture.url) {
        state.withLock { $0.documents[url] = document }
    }

    /// Delays answers.
    func hold(_ wait: @escaping @Sendable () async -> Void) {
        state.withLock { $0.hold = wait }
    }

    func keySet(at url: String) async throws(GatewayError) -> [UInt8] {
        let (document, hold) = state.withLock { state in
            state.calls += 1
            return (state.documents[url], state.hold)
        }
        await hold?()
        guard let document else { throw .unavailable(retryAfter: 1) }
        return Array(document.utf8)
    }
}
