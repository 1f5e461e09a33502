import GatewayCore
import LibPQ
import Logging

/// A pool as the stores use it: what fails is reported to the log, and thrown as what a caller can act on.
struct StorePool: Sendable {
    let pool: PostgresPool
    let logger: Logger
    /// What the log says where a statement fails: what could not be done.
    let complaint: Logger.Message
    /// How long a statement may take, a free connection included; by default as the pool is set.
    var patience: Duration?

    /// Executes a statement and decodes its rows.
    func execute<Parameters, Row>(
        _ statement: Statement<Parameters, Row>, _ parameters: Parameters, deadline: ContinuousClock.Instant? = nil
    ) async throws(GatewayError) -> [Row] {
        do throws(PostgresError) {
            return try await pool.execute(
                statement, parameters, deadline: deadline ?? patience.map { ContinuousClock.now + $0 })
        } catch {
            throw refusal(error)
        }
    }

    /// Executes a statement for its effect.
    func perform<Parameters>(
        _ statement: Statement<Parameters, Void>, _ parameters: Parameters
    ) async throws(GatewayError) {
        do throws(PostgresError) {
            try await pool.perform(statement, parameters, deadline: patience.map { ContinuousClock.now + $0 })
        } catch {
            throw refusal(error)
        }
    }

    /// Reports an error, and says what a caller can act on.
    private func refusal(_ error: PostgresError) -> GatewayError {
        logger.report(error, complaint, in: pool.outage)
        return error.asGatewayError
    }
}
