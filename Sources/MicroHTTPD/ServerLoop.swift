import CMicroHTTPD
import EventLoops
import Glibc
import Synchronization

/// The part of a server on one event loop: it runs one daemon and passes clients to it.
///
/// libmicrohttpd's own epoll threads are not usable: if `epoll_wait` returns exactly 128 events, version 0.9.75 waits
/// again, for up to the idle time, before it handles any of them. So the loop waits, and libmicrohttpd only polls.
/// Without threads of its own, libmicrohttpd has no channel between threads: it neither wakes when a connection is
/// resumed nor accepts one from another thread. That is why this class has a queue of arrivals.
final class ServerLoop: Sendable {
    /// A client on its way to this loop's thread.
    struct Arrival: Sendable {
        var socket: Int32
        var address: sockaddr_storage
        var length: socklen_t
        var key: SocketAddress.Key
    }

    let core: ServerCore
    /// The loop, which also runs the tasks that answer.
    let events: EventLoop
    private let arrivals = Mutex<[Arrival]>([])
    private let requests = Atomic<UInt>(0)

    init(core: ServerCore, events: EventLoop) {
        self.core = core
        self.events = events
    }

    /// Passes a client to the loop. It can be called on any thread.
    func add(_ arrival: Arrival) {
        arrivals.withLock { $0.append(arrival) }
        events.wake()
    }

    /// Makes the thread handle resumed connections. It must be called after they are resumed.
    func wake() {
        events.wake()
    }

    /// Works until the loop is stopped, then closes all connections, none of which may be suspended. libmicrohttpd
    /// makes all its calls on the thread that calls this.
    func run(_ daemon: Daemon) {
        events.run(DaemonWork(loop: self, daemon: daemon))
    }

    /// Lets tasks of other requests continue, once for every 32 requests. It must be called from the callback for the
    /// head of each request.
    ///
    /// libmicrohttpd handles all requests that have arrived, which may be thousands under load, before it returns to
    /// the loop. The tasks run inside its callback, on its thread. They may resume any connection; libmicrohttpd
    /// notices that on its next turn. They never let the daemon work and never queue an answer: that happens in the
    /// callbacks of their own connections.
    func begin() {
        guard requests.wrappingAdd(1, ordering: .relaxed).newValue % Self.requestsAtOnce == 0 else { return }
        events.interrupt()
    }

    private static let requestsAtOnce: UInt = 32

    fileprivate func handArrivals(to daemon: Daemon) {
        let taken = arrivals.withLock { exchange(&$0, with: []) }
        for var arrival in taken where !daemon.add(arrival.socket, address: &arrival.address, length: arrival.length) {
            core.dismiss(arrival.key)
        }
    }
}

/// A daemon's turn on its loop.
private final class DaemonWork: LoopWork {
    private let loop: ServerLoop
    private let daemon: Daemon

    init(loop: ServerLoop, daemon: Daemon) {
        self.loop = loop
        self.daemon = daemon
    }

    var descriptor: Int32 { daemon.epollDescriptor }
    var timeout: Int32 { daemon.timeout }

    func work() {
        loop.handArrivals(to: daemon)
        daemon.work()
    }

    func end() {
        loop.handArrivals(to: daemon)
        daemon.stop()
    }
}
