import Dispatch
import Glibc
import Synchronization

/// Turns the first Ctrl-C, SIGTERM or SIGHUP into a request to end in order. A second one ends the process at once.
/// A signal that is ignored stays so: `nohup` ignores hang-ups, and a script Ctrl-C for what it starts with `&`.
public final class Interrupts {
    private let numbers: [Int32]
    private let sources: [any DispatchSourceSignal]

    private final class Once: Sendable {
        let isDone = Atomic(false)
    }

    /// Catches the signals from now on.
    ///
    /// - Parameter action: What the first of them does; called on any thread.
    public init(_ action: @escaping @Sendable () -> Void) {
        let once = Once()
        numbers = [SIGINT, SIGTERM, SIGHUP].filter { number in
            let before: sighandler_t? = signal(number, SIG_IGN)
            return unsafe unsafeBitCast(before, to: Int.self) != unsafeBitCast(SIG_IGN, to: Int.self)
        }
        sources = numbers.map { number in
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
        for number in numbers { signal(number, SIG_DFL) }
    }
}
