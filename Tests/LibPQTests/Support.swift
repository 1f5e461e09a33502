import EventLoops
import Logging
import PostgresTesting

@testable import LibPQ

let quiet = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

/// A connection to the database of the running test.
func connect(_ settings: [(name: String, value: String)] = []) throws -> PostgresConnection {
    var configuration = try TestDatabase.current.configuration(sessionSettings: settings)
    // A busy machine takes its time to start the process that cancels.
    configuration.cancelTimeout = .seconds(20)
    return PostgresConnection(configuration, logger: quiet)
}

/// A statement that returns its one parameter, as a type of the database.
func echo<Value: PostgresValue>(_ type: Value.Type, as cast: String) -> Statement<Value, Value> {
    Statement("SELECT $1::\(cast)") { [$0] }
}

/// A query without parameters for one column.
func query<Value: PostgresValue>(_ text: String, as type: Value.Type = Value.self) -> Statement<Void, Value> {
    Statement(text)
}

/// The error that a call throws.
func postgresError(_ body: () async throws -> Void) async -> PostgresError? {
    do {
        try await body()
        return nil
    } catch {
        return error as? PostgresError
    }
}

/// Runs `body` on a loop.
func withLoop<Result: Sendable>(
    _ configuration: PostgresConfiguration? = nil,
    _ body: sending @escaping (EventLoop, PostgresConfiguration) async throws -> Result
) async throws -> Result {
    let configuration = try configuration ?? TestDatabase.current.configuration()
    let loop = try EventLoop()
    async let thread: Void = onThread { loop.run() }
    defer { loop.stop() }
    let result = try await withTaskExecutorPreference(loop) { try await body(loop, configuration) }
    loop.stop()
    await thread
    return result
}
