import CMicroHTTPD
import EventLoops
import Glibc
import Synchronization

/// What one event loop has to do with a server: it lets one daemon work, and hands it its clients.
///
/// libmicrohttpd's own epoll threads are of no use: where `epoll_wait` fills their 128 events exactly, version 0.9.75
/// waits again, for up to the idle time, before it looks at any of them. So the loop waits, and libmicrohttpd only ever
/// asks without waiting. Without threads of its own it has no channel between threads either: it neither wakes when a
/// connection is resumed nor takes one from another thread. Hence the queue of arrivals here.
final class ServerLoop: Sendable {
    /// A client on its way to this loop's thread.
    struct Arrival: Sendable {
        var socket: Int32
        var address: sockaddr_storage
        var length: socklen_t
        var key: SocketAddress.Key
    }

    let core: ServerCore
    /// Runs the tasks that answer, too.
    let events: EventLoop
    private let arrivals = Mutex<[Arrival]>([])
    private let requests = Atomic<UInt>(0)

    init(core: ServerCore, events: EventLoop) {
        self.core = core
        self.events = events
    }

    /// Hands a client over, from any thread.
    func add(_ arrival: Arrival) {
        arrivals.withLock { $0.append(arrival) }
        events.wake()
    }

    /// Makes the thread look at what was resumed; to be called after it was.
    func wake() {
        events.wake()
    }

    /// Works until the loop is stopped, then closes every connection, of which none may be suspended; everything that
    /// libmicrohttpd calls back comes on the thread that calls this.
    func run(_ daemon: Daemon) {
        events.run(DaemonWork(loop: self, daemon: daemon))
    }

    /// Lets tasks of other requests go on, once for every 32 requests; to be called from the callback for the head of
    /// each.
    ///
    /// libmicrohttpd works through all requests that have arrived, thousands under load, and returns to the loop only
    /// then. The tasks run inside of its callback, on its thread. They may resume any connection, which libmicrohttpd
    /// notices on its next turn. They never let the daemon work and never queue an answer: that happens in the
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
