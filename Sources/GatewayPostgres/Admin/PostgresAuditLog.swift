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
        guard let random = try? randomBytes(count: 10) else { throw .noRandomBytes }
        let id = UUID.version7(at: now(), randomBytes: random)
        do throws(PostgresError) {
            _ = try await pool.execute(AuditTable.note, (id, act, change))
        } catch {
            logger.report(
                error, "audit not written", in: pool.outage, metadata: ["request.id": "\(change.requestID)"])
            throw error.asGatewayError
        }
    }
}
