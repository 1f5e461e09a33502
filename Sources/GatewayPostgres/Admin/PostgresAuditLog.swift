public import FoundationEssentials
public import GatewayCore
public import LibPQ
public import Logging

/// Records acts of admins that change no row in the audit in PostgreSQL.
public struct PostgresAuditLog: AuditLog {
    private let pool: PostgresPool
    private let logger: Logger
    private let now: @Sendable () -> Date

    /// Creates an audit log.
    ///
    /// - Parameters:
    ///   - pool: Connections logged in as the gateway.
    ///   - logger: Receives the reasons why lines cannot be written.
    ///   - now: Returns the current time, for identifiers.
    public init(pool: PostgresPool, logger: Logger, now: @escaping @Sendable () -> Date) {
        self.pool = pool
        self.logger = logger
        self.now = now
    }

    /// Adds a line to the audit for an act that changed no row.
    public func note(_ act: AuditedAct, by change: ChangeContext) async throws(GatewayError) {
        let id = try UUID.new(at: now())
        do throws(PostgresError) {
            _ = try await pool.execute(AuditTable.note, (id, act, change))
        } catch {
            throw logger.refusal(
                of: error, "audit not written", in: pool.outage, metadata: ["request.id": "\(change.requestID)"])
        }
    }
}
