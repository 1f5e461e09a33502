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

    /// Catches the signals from now on. Until then they end the process: Dispatch, which handles them, begins to do so
    /// on a thread of its own. If they were ignored meanwhile, one would be lost.
    ///
    /// - Parameter action: What the first of them does; called on any thread.
    public init(_ action: @escaping @Sendable () -> Void) {
        let once = Once()
        let watched = DispatchSemaphore(value: 0)
        numbers = [SIGINT, SIGTERM, SIGHUP].filter { !Self.isIgnored($0) }
        sources = numbers.map { number in
            let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
            source.setEventHandler {
                if once.isDone.exchange(true, ordering: .relaxed) { _exit(ExitStatus.interrupted) }
                action()
            }
            source.setRegistrationHandler { watched.signal() }
            source.resume()
            return source
        }
        for _ in numbers { watched.wait() }
    }

    private static func isIgnored(_ number: Int32) -> Bool {
        var present = sigaction()
        unsafe sigaction(number, nil, &present)
        let handler = unsafe present.__sigaction_handler.sa_handler
        return unsafe unsafeBitCast(handler, to: Int.self) == unsafeBitCast(SIG_IGN, to: Int.self)
    }

    /// Leaves signals to the system again.
    public func end() {
        for source in sources { source.cancel() }
        for number in numbers { signal(number, SIG_DFL) }
    }
}
