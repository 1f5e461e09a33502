import Glibc

/// Runs work that blocks on a thread of its own, and waits for its end.
///
/// Not on a dispatch queue: those share a bounded number of threads.
public func onThread(_ work: @escaping @Sendable () -> Void) async {
    final class Errand: Sendable {
        let work: @Sendable () -> Void
        init(_ work: @escaping @Sendable () -> Void) { self.work = work }
    }
    await withCheckedContinuation { continuation in
        let errand = Errand {
            work()
            continuation.resume()
        }
        let context = unsafe Unmanaged.passRetained(errand).toOpaque()
        var thread = pthread_t()
        let failure = unsafe pthread_create(
            &thread, nil,
            { context in
                guard let context = unsafe context else { return nil }
                unsafe Unmanaged<Errand>.fromOpaque(context).takeRetainedValue().work()
                return nil
            }, context)
        precondition(failure == 0, "the system has no thread to spare")
        pthread_detach(thread)
    }
}
