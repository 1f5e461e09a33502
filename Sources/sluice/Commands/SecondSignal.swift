import Dispatch
import Glibc
import Synchronization

/// Acts on each Ctrl-C and SIGTERM after the first one of both.
///
/// A hang-up does not count: when a terminal closes, the system sends one, and shells send another.
final class SecondSignal {
    private final class Count: Sendable {
        private let number = Atomic(0)

        func increase(by signals: Int) -> Int { number.add(signals, ordering: .relaxed).newValue }
    }

    private let sources: [any DispatchSourceSignal]

    /// Counts signals from now on. Another part of the program keeps them from ending the process.
    init(_ action: @escaping @Sendable () -> Void) {
        let count = Count()
        sources = [SIGINT, SIGTERM].map { number in
            let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
            // Signals that arrive before the handler runs come as one event.
            source.setEventHandler {
                if count.increase(by: Int(source.data)) > 1 { action() }
            }
            source.resume()
            return source
        }
    }

    /// Counts no more.
    func end() {
        for source in sources { source.cancel() }
    }
}
