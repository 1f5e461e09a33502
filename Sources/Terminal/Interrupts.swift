import Dispatch
import Glibc
import Synchronization

/// Turns the first Ctrl-C, or SIGTERM, into a request to end in order. A second one ends the process at once.
public final class Interrupts {
    private let sources: [any DispatchSourceSignal]

    private final class Once: Sendable {
        let isDone = Atomic(false)
    }

    /// Catches the signals from now on.
    ///
    /// - Parameter action: What the first of them does; called on any thread.
    public init(_ action: @escaping @Sendable () -> Void) {
        let once = Once()
        sources = [SIGINT, SIGTERM].map { number in
            signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
            source.setEventHandler {
                if once.isDone.exchange(true, ordering: .relaxed) { _exit(ExitStatus.interrupted) }
                action()
            }
            source.resume()
            return source
        }
    }

    /// Leaves signals to the system again.
    public func end() {
        for source in sources { source.cancel() }
        for number in [SIGINT, SIGTERM] { signal(number, SIG_DFL) }
    }
}
