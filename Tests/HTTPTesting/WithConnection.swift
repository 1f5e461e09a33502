import Dispatch

/// Runs blocking calls on separate threads, so that no test holds a thread of Swift's pool while it waits.
private let blockingCalls = DispatchQueue(label: "blocking-calls", attributes: .concurrent)

/// Opens a connection to the port on this machine, passes it to `body` and closes it afterwards.
public func withConnection<Result: Sendable>(
    to port: UInt16,
    _ body: @escaping @Sendable (inout RawConnection) throws -> Result
) async throws -> Result {
    try await withCheckedThrowingContinuation { continuation in
        blockingCalls.async {
            do {
                var connection = try RawConnection(port: port)
                continuation.resume(returning: try body(&connection))
            } catch {
                continuation.resume(throwing: error)
            }
        }
    }
}
