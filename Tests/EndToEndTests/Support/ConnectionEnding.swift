import Glibc
import HTTPTesting

/// How a client ends its connection.
enum ConnectionEnding: CaseIterable, Sendable {
    /// As a client that is done (FIN).
    case close
    /// As that of a process that dies (RST).
    case reset
}

extension RawRequest {
    /// Sends the request, and hangs up after some microseconds.
    func hangUp(_ ending: ConnectionEnding, atPort port: UInt16, after microseconds: UInt32) async throws {
        try await onThread {
            let connection = try RawConnection(port: port)
            try connection.send(bytes)
            usleep(microseconds)
            if ending == .reset { connection.reset() }
        }
    }
}
