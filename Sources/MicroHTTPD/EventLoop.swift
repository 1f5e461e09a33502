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
    private let heads = Mutex<[ObjectIdentifier: Exchange]>([:])
    private let isStopped = Atomic<Bool>(false)

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
            daemon.work()
        }
        takeArrivals(daemon)
        daemon.stop()
    }

    // MARK: Heads that libmicrohttpd refuses

    /// The request line is there, the end of the head is not.
    func headBegan(_ exchange: Exchange) {
        heads.withLock { $0[ObjectIdentifier(exchange)] = exchange }
    }

    /// The head is there, or never will be.
    func headEnded(_ exchange: Exchange) {
        heads.withLock { $0[ObjectIdentifier(exchange)] = nil }
    }

    /// Answers before libmicrohttpd 0.9.75 does, which would send the head of its 400 twice.
    func answerMalformedLengths() {
        for exchange in heads.withLock({ Array($0.values) }) { exchange.refuseMalformedLength() }
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

/// Owns an event descriptor that ends a thread's waiting.
final class WakeUp: Sendable {
    private let descriptor: Int32
    /// Signalled since the thread last began to look around; further signals then cost nothing.
    private let isPending = Atomic<Bool>(false)

    init() throws(HTTPServerError) {
        descriptor = sluice_event_descriptor()
        guard descriptor >= 0 else { throw .cannotStart }
    }

    deinit { close(descriptor) }

    /// Ends the waiting, or the next one, once.
    func signal() {
        guard !isPending.exchange(true, ordering: .acquiringAndReleasing) else { return }
        var one: UInt64 = 1
        _ = unsafe write(descriptor, &one, MemoryLayout<UInt64>.size)
    }

    /// Waits for a signal, for another descriptor or for the end of the time.
    ///
    /// - Parameter milliseconds: -1 waits without end, 0 does not wait.
    func wait(orReadable other: Int32, for milliseconds: Int32) {
        if milliseconds != 0 {
            var polled = [
                pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0),
                pollfd(fd: other, events: Int16(POLLIN), revents: 0),
            ]
            _ = unsafe poll(&polled, nfds_t(polled.count), milliseconds)
            if polled[0].revents != 0 {
                var count: UInt64 = 0
                _ = unsafe read(descriptor, &count, MemoryLayout<UInt64>.size)
            }
        }
        // Only now, after the descriptor was emptied: a signal from here on is either seen by what follows or waits in it.
        _ = isPending.exchange(false, ordering: .acquiringAndReleasing)
    }
}
