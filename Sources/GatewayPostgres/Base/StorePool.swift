import GatewayCore
import LibPQ
import Logging

/// A connection pool for stores. It logs database errors and throws errors that a caller can act on.
struct StorePool: Sendable {
    let pool: PostgresPool
    let logger: Logger
    /// The log message when a statement fails; it says what could not be done.
    let complaint: Logger.Message
    /// Time allowed for a statement, including the wait for a free connection. The default is the pool's own limit.
    var patience: Duration?

    /// Executes a statement and decodes its rows.
    func execute<Parameters, Row>(
        _ statement: Statement<Parameters, Row>, _ parameters: Parameters, deadline: ContinuousClock.Instant? = nil
    ) async throws(GatewayError) -> [Row] {
        do throws(PostgresError) {
            return try await pool.execute(
                statement, parameters, deadline: deadline ?? patience.map { ContinuousClock.now + $0 })
        } catch {
            throw logger.refusal(of: error, complaint, in: pool.outage)
        }
    }

    /// Executes a statement that returns no rows.
    func perform<Parameters>(
        _ statement: Statement<Parameters, Void>, _ parameters: Parameters
    ) async throws(GatewayError) {
        do throws(PostgresError) {
            try await pool.perform(statement, parameters, deadline: patience.map { ContinuousClock.now + $0 })
        } catch {
            throw logger.refusal(of: error, complaint, in: pool.outage)
        }
    }
}
