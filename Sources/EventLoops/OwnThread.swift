import Dispatch
import Glibc

/// Starts blocking work on a thread of its own, without waiting for it to end.
///
/// It does not use a dispatch queue, because dispatch queues share a limited number of threads.
///
/// - Returns: Whether the system could start a thread. If not, the work is not done.
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

/// Runs blocking work on a thread of its own and waits for it to end.
public func onThread(_ work: @escaping @Sendable () -> Void) async {
    await withCheckedContinuation { continuation in
        let isStarted = startThread {
            work()
            continuation.resume()
        }
        precondition(isStarted, "the system has no thread to spare")
    }
}

/// Repeats work on a thread of its own until the task is cancelled.
///
/// It is for work that enforces deadlines: timers on the system's threads fire late while those threads are busy or
/// blocked.
///
/// - Parameters:
///   - interval: Time from the end of one run to the start of the next.
///   - work: The work; it must not block.
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
