import Dispatch
import Glibc

/// Starts work that blocks on a thread of its own, for whose end nobody waits.
///
/// Not on a dispatch queue: those share a bounded number of threads.
///
/// - Returns: Whether the system had a thread to spare; without one the work is not done.
public func startThread(_ work: @escaping @Sendable () -> Void) -> Bool {
    final class Errand: Sendable {
        let work: @Sendable () -> Void
        init(_ work: @escaping @Sendable () -> Void) { self.work = work }
    }
    let errand = unsafe Unmanaged.passRetained(Errand(work))
    var thread = pthread_t()
    let failure = unsafe pthread_create(
        &thread, nil,
        { context in
            guard let context = unsafe context else { return nil }
            unsafe Unmanaged<Errand>.fromOpaque(context).takeRetainedValue().work()
            return nil
        }, errand.toOpaque())
    guard failure == 0 else {
        unsafe errand.release()
        return false
    }
    pthread_detach(thread)
    return true
}

/// Runs work that blocks on a thread of its own, and waits for its end.
public func onThread(_ work: @escaping @Sendable () -> Void) async {
    await withCheckedContinuation { continuation in
        let isStarted = startThread {
            work()
            continuation.resume()
        }
        precondition(isStarted, "the system has no thread to spare")
    }
}

/// Does one thing again and again on a thread of its own, until the task is cancelled: for what keeps deadlines, since
/// timers of the system's threads go off late where those are busy or blocked.
///
/// - Parameters:
///   - interval: Time from the end of one turn to the beginning of the next.
///   - work: What is done; it must not block.
public func onThread(every interval: Duration, _ work: @escaping @Sendable () -> Void) async {
    let end = DispatchSemaphore(value: 0)
    await withTaskCancellationHandler {
        await onThread {
            repeat { work() } while end.wait(timeout: .now() + interval / .seconds(1)) == .timedOut
        }
    } onCancel: {
        end.signal()
    }
}
