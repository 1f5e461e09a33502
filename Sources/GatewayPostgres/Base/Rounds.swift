import LibPQ
import Logging
import ServiceLifecycle

/// Runs a round at once, then another each time the interval has passed since the last one ended. Stops when the
/// service shuts down.
func doRounds(every interval: Duration, _ round: @escaping @Sendable () async -> Void) async {
    await cancelWhenGracefulShutdown {
        repeat {
            await round()
        } while (try? await Task.sleep(for: interval)) != nil
    }
}

/// Removes rows in small steps, so that no step locks many of them.
///
/// - Parameters:
///   - step: Rows that one step removes at most.
///   - remove: Removes up to `step` rows; returns how many.
func inSteps(
    of step: Int32, _ remove: (_ step: Int32) async throws(PostgresError) -> Int32?
) async throws(PostgresError) {
    var removed: Int32
    repeat {
        removed = try await remove(step) ?? 0
    } while removed >= step && !Task.isCancelled
}

extension Logger {
    /// Does a part of a round. If it fails, the log says so, and the round goes on.
    func attempt(
        _ complaint: Logger.Message, in outage: Outage?, _ work: () async throws(PostgresError) -> Void
    ) async {
        do throws(PostgresError) {
            try await work()
        } catch {
            report(error, complaint, in: outage)
        }
    }
}

extension Duration {
    /// How long the last write of a service may take. A gateway that stops has little time.
    static let lastWrite = Duration.seconds(2)
}
