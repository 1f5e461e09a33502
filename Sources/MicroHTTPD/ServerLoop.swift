import CMicroHTTPD
import EventLoops
import Glibc
import Synchronization

/// The part of a server on one event loop: it runs a daemon and passes clients to it.
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
    /// The descriptors of all daemons of the loop. Only certificates change, so without them there is one daemon.
    fileprivate let daemons: DescriptorSet?
    private let handover = Mutex(Handover())
    private let requests = Atomic<UInt>(0)
    /// Connections that wait for their answers without being suspended.
    private let waiting = Atomic<Int>(0)
    /// Whether a request has gone on since the last turn.
    private let hasGoneOn = Atomic<Bool>(false)

    /// What other threads pass to the loop's.
    fileprivate struct Handover {
        var arrivals: [Arrival] = []
        /// The daemon of all clients from now on.
        var successor: Daemon?
    }

    init(core: ServerCore, events: EventLoop) throws(HTTPServerError) {
        self.core = core
        self.events = events
        daemons = core.isSecure ? try DescriptorSet() : nil
    }

    /// Passes a client to the loop. It can be called on any thread.
    func add(_ arrival: Arrival) {
        handover.withLock { $0.arrivals.append(arrival) }
        events.wake()
    }

    /// Gives clients that arrive from now on to another daemon. It can be called on any thread.
    func succeed(_ daemon: Daemon) {
        handover.withLock { $0.successor = daemon }
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

    /// Notes that a connection waits for its answer without being suspended. To be called on the loop's thread.
    func waits() { waiting.wrappingAdd(1, ordering: .relaxed) }

    /// Notes that a connection waits so no longer. To be called on the loop's thread.
    func waitsNoLonger() { waiting.wrappingSubtract(1, ordering: .relaxed) }

    /// Notes that a request goes on, so that libmicrohttpd may have more to do for it.
    func goesOn() { hasGoneOn.store(true, ordering: .relaxed) }

    /// How long the thread may wait where libmicrohttpd says for how long it can. To be called once a turn.
    ///
    /// For libmicrohttpd, a request without an answer is work that is always due. Asking again in vain would keep the
    /// processor busy. So while some wait, a turn follows at once only if a request has gone on in the last one. What
    /// comes from other threads or sockets ends the wait as ever. libmicrohttpd may also hold bytes of which its
    /// callbacks tell nothing, such as half a head; these wait for a millisecond at most.
    fileprivate func patience(_ milliseconds: Int32) -> Int32 {
        let hasGoneOn = hasGoneOn.exchange(false, ordering: .relaxed)
        guard milliseconds == 0, waiting.load(ordering: .relaxed) > 0 else { return milliseconds }
        return hasGoneOn ? 0 : 1
    }

    fileprivate func takeHandover() -> Handover {
        handover.withLock { exchange(&$0, with: Handover()) }
    }
}

/// The turn of a loop's daemons: the one that takes clients, and those with earlier certificates that still have some.
private final class DaemonWork: LoopWork {
    private let loop: ServerLoop
    private var daemon: Daemon
    private var predecessors: [Daemon] = []

    init(loop: ServerLoop, daemon: Daemon) {
        self.loop = loop
        self.daemon = daemon
        loop.daemons?.insert(daemon.epollDescriptor)
    }

    var descriptor: Int32 { loop.daemons?.descriptor ?? daemon.epollDescriptor }

    var timeout: Int32 {
        // As an unsigned number, -1 is the longest time.
        let shortest = predecessors.reduce(daemon.timeout) {
            Int32(bitPattern: min(UInt32(bitPattern: $0), UInt32(bitPattern: $1.timeout)))
        }
        return loop.patience(shortest)
    }

    func work() {
        takeHandover()
        daemon.work()
        guard !predecessors.isEmpty else { return }
        predecessors.removeAll { predecessor in
            predecessor.work()
            guard predecessor.connectionCount == 0 else { return false }
            predecessor.stop()
            return true
        }
    }

    func end() {
        takeHandover()
        for daemon in predecessors + [daemon] { daemon.stop() }
    }

    private func takeHandover() {
        let handover = loop.takeHandover()
        if let successor = handover.successor {
            predecessors.append(daemon)
            daemon = successor
            loop.daemons?.insert(successor.epollDescriptor)
        }
        for var arrival in handover.arrivals
        where !daemon.add(arrival.socket, address: &arrival.address, length: arrival.length) {
            loop.core.dismiss(arrival.key)
        }
    }
}
