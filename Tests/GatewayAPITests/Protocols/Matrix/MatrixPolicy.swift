import Foundation
import GatewayCore
import Synchronization

/// The rows of a generated case, with a log of changes, and a ledger that proves by it.
final class MatrixPolicy: PolicySource {
    private struct Tables {
        var bucket: Bucket
        var credential: StorageCredential
        var grants: [Grant]
        var quotas: [Quota]
        var log: [(position: PolicyPosition, scopes: Set<PolicyScope>)] = [(StubPolicy.position, [])]
        var isChanged = false

        var position: PolicyPosition { log.last?.position ?? StubPolicy.position }
    }

    private let tables: Mutex<Tables>
    private let weather: MatrixWorld.Weather

    init(_ world: MatrixWorld) throws {
        weather = world.weather
        tables = Mutex(
            Tables(
                bucket: try world.bucket(), credential: world.credential(), grants: [try world.grant()],
                quotas: try world.quotas()))
    }

    /// Where the log ends, for callers who sign in.
    var position: PolicyPosition { tables.withLock { $0.position } }

    /// Judges a proposal as the recording function does: first what changed since it was decided, then its charges.
    /// Before the first proposal, policy changes as the case says.
    func verdict(on proposal: IssuanceProposal) -> RecordVerdict {
        tables.withLock { tables in
            if !tables.isChanged { change(&tables) }
            tables.isChanged = true
            let scopes = Set(proposal.scopes)
            let newer = tables.log.filter { $0.position.sequence > proposal.position.sequence }
            guard newer.allSatisfy({ scopes.isDisjoint(with: $0.scopes) }) else { return .stale }
            for charge in proposal.charges where charge.amount > charge.quota.limit {
                return .quotaExceeded(
                    QuotaRefusal(
                        quotaID: charge.quota.id.uuidString, metric: charge.quota.metric, period: charge.quota.period,
                        limit: charge.quota.limit, remaining: charge.quota.limit, resetsIn: 60))
            }
            return .recorded(
                remaining: proposal.charges.map {
                    QuotaRemainder(
                        quotaID: $0.quota.id, remaining: max(0, $0.quota.limit - $0.amount), resetsIn: 60)
                })
        }
    }

    private func change(_ tables: inout Tables) {
        let scope: PolicyScope
        switch weather {
        case .fresh, .notOpened: return
        case .staleOnce: scope = .bucket(tables.bucket.name)
        case .closed:
            tables.bucket.protocols = []
            scope = .bucket(tables.bucket.name)
        case .revoked:
            guard let grant = tables.grants.popLast() else { return }
            scope = .principal(grant.principal)
        }
        let tag = UUID(uuid: (2, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16))
        tables.log.append((PolicyPosition(sequence: tables.position.sequence + 1, tag: tag), [scope]))
    }

    func load(_ keys: [PolicyKey], literalGrantLimit: Int) async throws(GatewayError) -> PolicyLoad<[PolicyRows]> {
        tables.withLock { tables in
            let rows = keys.map { key -> PolicyRows in
                switch key {
                case .principal(let principal):
                    .principal(
                        PrincipalRows(
                            grants: tables.grants.filter { $0.principal == principal },
                            quotas: tables.quotas.filter { $0.principal == principal }))
                case .bucket(let name): .bucket(name == tables.bucket.name ? tables.bucket : nil)
                case .credential(let id):
                    .credential(id == StubPolicy.cdnCredentialID ? StubPolicy.cdnCredential() : tables.credential)
                case .issuer: .issuer(nil)
                case .apiKey: .apiKey(nil)
                case .ticket: .ticket(nil)
                }
            }
            return PolicyLoad(position: tables.position, rows: rows)
        }
    }

    func grants(at places: [GrantPlace]) async throws(GatewayError) -> PolicyLoad<[[Grant]?]> {
        tables.withLock { PolicyLoad(position: $0.position, rows: [[Grant]?](repeating: [], count: places.count)) }
    }

    func grants(
        of principals: [Principal], in bucket: BucketName, around prefix: ExactText, limit: Int
    ) async throws(GatewayError) -> PolicyLoad<[Grant]> {
        tables.withLock { PolicyLoad(position: $0.position, rows: $0.grants) }
    }

    func firstGrants(
        of principals: [Principal], in bucket: BucketName?, around prefix: ExactText, limit: Int
    ) async throws(GatewayError) -> PolicyLoad<[Grant]> {
        tables.withLock { PolicyLoad(position: $0.position, rows: $0.grants) }
    }

    func changes(since position: PolicyPosition?) async throws(GatewayError) -> PolicyChanges {
        tables.withLock { tables in
            guard let index = tables.log.firstIndex(where: { $0.position == position }) else {
                return .restart(at: tables.position)
            }
            let scopes = tables.log[(index + 1)...].reduce(into: Set()) { $0.formUnion($1.scopes) }
            return .scopes(scopes, upTo: tables.position)
        }
    }
}

/// Knows `user:alice` by the token of the other tests, at the end of the log.
struct MatrixAuthenticator: Authenticator {
    let policy: MatrixPolicy

    func authenticate(_ token: Secret<String>) async throws(GatewayError) -> Caller {
        let caller = try await StubAuthenticator().authenticate(token)
        return Caller(
            principal: caller.principal, groups: [], roles: [], claims: [:], expiresAt: nil, token: token, scope: nil,
            position: policy.position)
    }
}
