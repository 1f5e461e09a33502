public import Foundation
public import GatewayCore
import LibCrypto
public import LibPQ
public import Logging

/// Writes down in PostgreSQL what admins did besides changing rows.
public struct PostgresAuditLog: AuditLog {
    private let pool: PostgresPool
    private let logger: Logger
    private let now: @Sendable () -> Date

    /// Makes a log.
    ///
    /// - Parameters:
    ///   - pool: Logged in as the gateway.
    ///   - logger: Told why lines cannot be written.
    ///   - now: The clock of identifiers.
    public init(pool: PostgresPool, logger: Logger, now: @escaping @Sendable () -> Date) {
        self.pool = pool
        self.logger = logger
        self.now = now
    }

    /// Adds a line.
    public func note(_ act: AuditedAct, by change: ChangeContext) async throws(GatewayError) {
        guard let random = try? randomBytes(count: 10) else { throw .unavailable(retryAfter: 1) }
        let id = UUID.version7(at: now(), randomBytes: random)
        do throws(PostgresError) {
            _ = try await pool.execute(Self.insert, (id, act, change))
        } catch {
            logger.report(
                error, "audit not written", in: pool.outage, metadata: ["request.id": "\(change.requestID)"])
            throw error.asGatewayError
        }
    }

    static let insert = Statement<(id: UUID, act: AuditedAct, change: ChangeContext), UUID>(
        """
        INSERT INTO admin_audit (id, actor, request_id, operation, kind, resource_id, after)
        VALUES ($1, $2, $3, $4, $5, $6, jsonb_object($7::text[], $8::text[]))
        RETURNING id
        """
    ) {
        let details = $0.act.details.sorted { $0.key < $1.key }
        return [
            $0.id, $0.change.actor.rawValue, $0.change.requestID, $0.act.operation.rawValue, $0.act.kind.rawValue,
            $0.act.identifier, details.map(\.key), details.map(\.value),
        ]
    } decode: { row throws(PostgresError) in
        try row.decode(0)
    }
}
