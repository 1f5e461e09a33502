import CMicroHTTPD
import Glibc
import Synchronization

/// What drives one daemon: the thread that calls ``run(_:)`` waits for its sockets and lets it work.
///
/// libmicrohttpd's own epoll threads are of no use: where `epoll_wait` fills their 128 events exactly, version 0.9.75 waits
/// again, for up to the idle time, before it looks at any of them. So we wait, and it only ever asks without waiting. Without
/// threads of its own it has no channel between threads either: it neither wakes when a connection is resumed nor takes one
/// from another thread. Hence the wake-up and the queue of arrivals here.
final class EventLoop: Sendable {
    /// A client on its way to this loop's thread.
    struct Arrival: Sendable {
        var socket: Int32
        var address: sockaddr_storage
        var length: socklen_t
        var key: SocketAddress.Key
    }

    let core: ServerCore
    private let wakeUp: WakeUp
    private let arrivals = Mutex<[Arrival]>([])
    private let isStopped = Atomic<Bool>(false)
    private let jobs = Mutex(Jobs())

    private struct Jobs {
        var waiting: [UnownedJob] = []
        /// Whether the thread will look at them.
        var isOpen = true
    }

    init(core: ServerCore) throws(HTTPServerError) {
        self.core = core
        wakeUp = try WakeUp()
    }

    /// Hands a client over, from any thread.
    func add(_ arrival: Arrival) {
        arrivals.withLock { $0.append(arrival) }
        wakeUp.signal()
    }

    /// Makes the thread look at what was resumed; to be called after it was.
    func wake() {
        wakeUp.signal()
    }

    /// Makes ``run(_:)`` return.
    func stop() {
        isStopped.store(true, ordering: .sequentiallyConsistent)
        wakeUp.signal()
    }

    /// Works until ``stop()``, then closes every connection, of which none may be suspended; everything that libmicrohttpd
    /// calls back comes on the thread that calls this.
    func run(_ daemon: Daemon) {
        while !isStopped.load(ordering: .sequentiallyConsistent) {
            wakeUp.wait(orReadable: daemon.epollDescriptor, for: daemon.timeout)
            takeArrivals(daemon)
            runJobs()
            daemon.work()
        }
        takeArrivals(daemon)
        daemon.stop()
        closeJobs()
    }

    // MARK: Tasks that answer

    /// Runs what is waiting; what that makes runnable waits until the sockets were looked at.
    private func runJobs() {
        let taken = jobs.withLock { exchange(&$0.waiting, with: []) }
        for job in taken { unsafe job.runSynchronously(on: asUnownedTaskExecutor()) }
    }

    /// Leaves what is not done to the system's threads: the tasks of clients that are gone.
    private func closeJobs() {
        let left = jobs.withLock { jobs in
            jobs.isOpen = false
            return exchange(&jobs.waiting, with: [])
        }
        for job in left { globalConcurrentExecutor.enqueue(job) }
    }

    // MARK: Heads that libmicrohttpd refuses

    /// Answers before libmicrohttpd 0.9.75 does, which would send the head of its 400 twice.
    func answerMalformedLengths() {
        for client in core.connections { client.exchange(of: self)?.refuseMalformedLength() }
    }

    private func takeArrivals(_ daemon: Daemon) {
        let taken = arrivals.withLock { arrivals in
            defer { arrivals = [] }
            return arrivals
        }
        for var arrival in taken where !daemon.add(arrival.socket, address: &arrival.address, length: arrival.length) {
            core.dismiss(arrival.key)
        }
    }
}

/// The tasks that answer run on the thread that serves their connections: a request then moves to no other thread, and
/// whatever it touches is in that processor's cache.
extension EventLoop: TaskExecutor {
    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        let isTaken = jobs.withLock { jobs in
            if jobs.isOpen { jobs.waiting.append(job) }
            return jobs.isOpen
        }
        if isTaken {
            wakeUp.signal()
        } else {
            globalConcurrentExecutor.enqueue(job)
        }
    }
}

/// Runs work that blocks on a thread of its own, and waits for its end.
///
/// Not on a dispatch queue: those share a bounded number of threads.
func onThread(_ work: @escaping @Sendable () -> Void) async {
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
