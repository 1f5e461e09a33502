import Dispatch
import Glibc
import ObjectClient

/// Turns the first Ctrl-C, or SIGTERM, into a request to end in order. A second one ends the process at once.
final class Interrupts {
    let stop = StopFlag()
    private let sources: [any DispatchSourceSignal]

    init() {
        let stop = stop
        sources = [SIGINT, SIGTERM].map { number in
            signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
            source.setEventHandler {
                if stop.isSet { _exit(130) }
                stop.set()
            }
            source.resume()
            return source
        }
    }

    /// Leaves signals to the system again.
    func end() {
        for source in sources { source.cancel() }
        for number in [SIGINT, SIGTERM] { signal(number, SIG_DFL) }
    }
}
