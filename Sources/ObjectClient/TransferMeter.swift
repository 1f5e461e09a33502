import Synchronization

/// Counts the bytes of a transfer.
public final class TransferMeter: Sendable {
    /// What is known at an instant.
    public struct Reading: Sendable, Equatable {
        /// Number of bytes in all; `nil` if unknown.
        public var total: Int64?
        /// Number of bytes that have arrived, including those of earlier runs.
        public var bytes: Int64 = 0
        /// Number of bytes that had arrived before this run.
        public var earlier: Int64 = 0
    }

    private let state = Mutex(Reading())
    private let show: @Sendable (Reading) -> Void

    /// Creates a meter.
    ///
    /// - Parameter show: Gets each change; called on any thread.
    public init(show: @escaping @Sendable (Reading) -> Void = { _ in }) {
        self.show = show
    }

    /// Says how many bytes there are in all.
    public func expect(_ total: Int64?) { change { $0.total = total } }

    /// Counts bytes that were there before.
    func found(_ bytes: Int64) {
        change {
            $0.bytes += bytes
            $0.earlier += bytes
        }
    }

    /// Counts bytes; a negative number takes back those of an attempt that failed.
    func add(_ bytes: Int64) { change { $0.bytes += bytes } }

    private func change(_ body: (inout Reading) -> Void) {
        let reading = state.withLock { state in
            body(&state)
            return state
        }
        show(reading)
    }
}
