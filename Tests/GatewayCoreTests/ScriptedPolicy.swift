import Foundation
import GatewayCore
import LibCrypto
import Synchronization

/// Policy in the test's own tables, with a log of changes. Answers can be held back.
final class ScriptedPolicy: PolicySource {
    struct Tables: Sendable {
        var grants: [Grant] = []
        var quotas: [Quota] = []
        var members: [Principal: [Principal]] = [:]
        var bucket: Bucket?
        var secondBucket: Bucket?
        var credential: StorageCredential?
        var cdnCredential: StorageCredential?
        var apiKeys: [APIKey] = []
        var tickets: [Ticket] = []
        var log: [(position: PolicyPosition, scopes: Set<PolicyScope>)] = [(Fixture.position, [])]
        var error: GatewayError?
        /// What loads of rows throw; the log can be read all the same.
        var loadError: GatewayError?
        /// Keys whose rows the gateway cannot read, and places where it cannot read a grant.
        var unreadable: Set<PolicyKey> = []
        var unreadablePlaces: Set<GrantPlace> = []
        var loads: [Set<PolicyKey>] = []
        var placeLoads: [Set<GrantPlace>] = []
        var folderLoads: [ExactText] = []
        var reads: [PolicyPosition?] = []
    }

    enum Call { case load, grants, changes }

    private let tables: Mutex<Tables>
    /// Runs after an answer was read and before it is returned.
    private let hold: @Sendable (Call) async -> Void

    /// Policy by which `user:alice`, with the API key `key`, may open sessions below `team/`.
    static func ofSessions() throws -> ScriptedPolicy {
        var tables = Tables()
        tables.bucket = try Fixture.bucket()
        var credential = Fixture.credential()
        credential.sessionRole = Fixture.role
        tables.credential = credential
        tables.grants = [try Fixture.sessionGrant(1)]
        tables.apiKeys = [
            APIKey(
                id: Fixture.id(3), prefix: "key", hash: Digest(), name: "key", principal: try Principal("user:alice"),
                createdAt: Fixture.now)
        ]
        return ScriptedPolicy(tables)
    }

    init(_ tables: Tables, hold: @escaping @Sendable (Call) async -> Void = { _ in }) {
        self.tables = Mutex(tables)
        self.hold = hold
    }

    var now: Tables { tables.withLock { $0 } }

    /// Commits a change: writes rows and appends an entry to the log.
    func change(_ scopes: Set<PolicyScope>, _ write: (inout Tables) throws -> Void) rethrows {
        try tables.withLock { tables in
            try write(&tables)
            let sequence = (tables.log.last?.position.sequence ?? 0) + 1
            let position = PolicyPosition(sequence: sequence, tag: Fixture.id(1_000_000 + Int(sequence)))
            tables.log.append((position, scopes))
        }
    }

    /// Changes data that the log does not cover.
    func set(_ write: (inout Tables) -> Void) {
        tables.withLock { write(&$0) }
    }

    func load(_ keys: [PolicyKey], literalGrantLimit: Int) async throws(GatewayError) -> PolicyLoad<[PolicyRows]> {
        let (load, error) = tables.withLock { tables in
            tables.loads.append(Set(keys))
            let rows = keys.map { tables.rows(of: $0, literalGrantLimit: literalGrantLimit) }
            return (PolicyLoad(position: tables.position, rows: rows), tables.error ?? tables.loadError)
        }
        await hold(.load)
        if let error { throw error }
        return load
    }

    func grants(at places: [GrantPlace]) async throws(GatewayError) -> PolicyLoad<[[Grant]?]> {
        let load = tables.withLock { tables in
            tables.placeLoads.append(Set(places))
            return PolicyLoad(position: tables.position, rows: places.map { tables.grants(at: $0) })
        }
        await hold(.grants)
        return load
    }

    func grants(
        of principals: [Principal], in bucket: BucketName, around prefix: ExactText, limit: Int
    ) async throws(GatewayError) -> PolicyLoad<[Grant]> {
        tables.withLock { tables in
            tables.folderLoads.append(prefix)
            let rows = tables.grants.filter { grant in
                guard case .literal(let text) = grant.prefix else { return false }
                return principals.contains(grant.principal) && grant.bucket == bucket
                    && (text.rawValue.hasPrefix(prefix.rawValue) || prefix.rawValue.hasPrefix(text.rawValue))
            }
            return PolicyLoad(position: tables.position, rows: rows)
        }
    }

    func firstGrants(
        of principals: [Principal], in bucket: BucketName?, around prefix: ExactText, limit: Int
    ) async throws(GatewayError) -> PolicyLoad<[Grant]> {
        tables.withLock { tables in
            let rows = tables.grants.filter { grant in
                guard case .literal(let text) = grant.prefix, principals.contains(grant.principal) else { return false }
                guard let bucket else { return true }
                return grant.bucket == bucket
                    && (text.rawValue.hasPrefix(prefix.rawValue) || prefix.rawValue.hasPrefix(text.rawValue))
            }
            let sorted = rows.sorted {
                ($0.bucket.rawValue, $0.prefix.text, $0.id) < ($1.bucket.rawValue, $1.prefix.text, $1.id)
            }
            return PolicyLoad(position: tables.position, rows: Array(sorted.prefix(limit)))
        }
    }

    func changes(since position: PolicyPosition?) async throws(GatewayError) -> PolicyChanges {
        let (changes, error) = tables.withLock { tables in
            tables.reads.append(position)
            return (tables.changes(since: position), tables.error)
        }
        await hold(.changes)
        if let error { throw error }
        return changes
    }
}

extension ScriptedPolicy.Tables {
    var position: PolicyPosition { log.last?.position ?? Fixture.position }

    func changes(since position: PolicyPosition?) -> PolicyChanges {
        guard let index = log.firstIndex(where: { $0.position == position }) else {
            return .restart(at: self.position)
        }
        let scopes = log[(index + 1)...].reduce(into: Set()) { $0.formUnion($1.scopes) }
        return .scopes(scopes, upTo: self.position)
    }

    func grants(at place: GrantPlace) -> [Grant]? {
        guard !unreadablePlaces.contains(place) else { return nil }
        return grants.filter {
            $0.principal == place.principal && $0.bucket == place.bucket && $0.prefix == .literal(place.prefix)
        }
    }

    func rows(of key: PolicyKey, literalGrantLimit: Int) -> PolicyRows {
        guard !unreadable.contains(key) else { return .unreadable }
        switch key {
        case .principal(let principal):
            let own = grants.filter { $0.principal == principal }
            let literalCount = own.count { !$0.prefix.isTemplate }
            let isComplete = literalCount <= literalGrantLimit
            return .principal(
                PrincipalRows(
                    groups: members[principal] ?? [], grants: isComplete ? own : own.filter(\.prefix.isTemplate),
                    isComplete: isComplete, quotas: quotas.filter { $0.principal == principal }
                )
            )
        case .bucket(let name):
            return .bucket([bucket, secondBucket].compactMap(\.self).first { $0.name == name })
        case .credential(let id):
            return .credential([credential, cdnCredential].compactMap(\.self).first { $0.id == id })
        case .issuer: return .issuer(nil)
        case .apiKey(let prefix): return .apiKey(apiKeys.first { $0.prefix == prefix })
        case .ticket(let name): return .ticket(tickets.first { $0.name == name })
        }
    }
}

/// Returns `true` only once.
final class Once: Sendable {
    private let isUsed = Mutex(false)

    func isFirst() -> Bool {
        isUsed.withLock { isUsed in
            defer { isUsed = true }
            return !isUsed
        }
    }
}
