import Dispatch

/// Opens a connection to the port on this machine, passes it to `body` and closes it afterwards. All this runs on a
/// thread of its own, so that no test holds a thread of Swift's pool while it waits.
public func withConnection<Result: Sendable>(
    to port: UInt16,
    _ body: @escaping @Sendable (inout RawConnection) throws -> Result
) async throws -> Result {
    try await withCheckedThrowingContinuation { continuation in
        // A concurrent queue would run as many calls as there are cores, and one more each second.
        DispatchQueue(label: "blocking-call").async {
            do {
                var connection = try RawConnection(port: port)
                continuation.resume(returning: try body(&connection))
            } catch {
                continuation.resume(throwing: error)
            }
        }
    }
}
