import Dispatch
public import EventLoops
public import Figures
import Glibc
public import HTTPServing
public import Logging
public import ServiceLifecycle
import Synchronization

/// An HTTP/1.1 server on one address and port.
///
/// It listens from the moment it is made, so that a busy port is an error at once, and clients wait rather than fail.
/// It answers while ``run()`` runs. On graceful shutdown it stops accepting, lets running answers finish until the
/// end of the drain period, and ends. When its task is cancelled, it ends without waiting. A socket that the process
/// was given stays open for others who have it: clients that connect meanwhile wait for the next of them.
public final class HTTPServer: Service, Sendable {
    /// Its address and limits.
    public let configuration: HTTPServerConfiguration
    private let core: ServerCore
    private let listener: ListeningSocket
    /// What the first clients see; `nil` without TLS.
    private let tls: CertificateAndKey?
    let loops: [ServerLoop]

    /// Binds the address and listens, or takes a socket that listens already. Reads certificate and key.
    ///
    /// - Parameters:
    ///   - socket: A listening TCP socket that the process was given, which takes the place of address and port. The
    ///     server owns the descriptor.
    ///   - loops: The event loops that serve, which ``run()`` runs. By default they are new, as many as the
    ///     configuration says.
    /// - Throws: ``HTTPServerError`` when the address is invalid or in use, the socket does not listen, certificate and
    ///   key cannot be read or do not fit together, or too few files may be open for any client.
    public init(
        configuration: HTTPServerConfiguration, socket: Int32? = nil, responder: any HTTPResponder, logger: Logger,
        loops: [EventLoop] = []
    ) throws(HTTPServerError) {
        listener =
            if let socket {
                try ListeningSocket(passed: socket)
            } else {
                try ListeningSocket(address: configuration.address, port: configuration.port)
            }
        try Self.checkDescriptors(reserving: configuration.reservedDescriptors)
        tls = if let files = configuration.tls { try CertificateAndKey(reading: files) } else { nil }
        self.configuration = configuration
        let core = ServerCore(configuration: configuration, responder: responder, logger: logger)
        self.core = core
        do {
            let threads = try loops.isEmpty ? (0..<configuration.threads).map { _ in try EventLoop() } : loops
            self.loops = try threads.map { try ServerLoop(core: core, events: $0) }
        } catch {
            throw .cannotStart
        }
        core.certificate.withLock { [tls] in $0 = tls?.certificate }
        // What OpenSSL accepts, the library of libmicrohttpd may still refuse. Whoever starts a server learns it here.
        if let tls, let loop = self.loops.first { _ = try Daemon(loop: loop, tls: tls) }
    }

    /// The address it listens on.
    public var address: String { listener.address }

    /// The port it listens on, even if the system chose it.
    public var port: UInt16 { listener.port }

    /// Number of open connections.
    public var connectionCount: Int { core.clientCount }

    /// Maximum number of open connections: that of the configuration, or fewer if the process may open fewer files.
    public var connectionLimit: Int { core.clientLimit }

    /// Connections that were refused because there were too many.
    public var refusedConnections: Counter { core.refusedClients }

    /// The certificate chain that clients see, in PEM; `nil` without TLS.
    public var certificate: String? { core.certificate.withLock { $0 } }

    /// Serves until graceful shutdown or cancellation.
    ///
    /// - Throws: ``HTTPServerError`` when it cannot start.
    public func run() async throws {
        defer {
            for loop in loops { loop.events.stop() }
        }
        let daemons = try loops.map { try Daemon(loop: $0, tls: tls) }
        await withTaskGroup { threads in
            for (loop, daemon) in zip(loops, daemons) { threads.addTask { await onThread { loop.run(daemon) } } }
            threads.addTask { [core, configuration] in
                await onThread(every: configuration.sweepInterval) { core.sweep() }
            }
            await serve()
            for loop in loops { loop.events.stop() }
            threads.cancelAll()
        }
        core.logger.info("stopped", metadata: ["port": "\(port)"])
    }

    /// Lets each connection end with its next answer, which says `Connection: close`. New connections are accepted as
    /// before. Called some time before the shutdown, it keeps clients from sending a request on a kept connection just
    /// when that is closed.
    public func beginToLeave() {
        core.isLeaving.store(true, ordering: .relaxed)
    }

    /// Serves clients until the end, and makes sure that nothing stays suspended.
    private func serve() async {
        let accepting = DispatchQueue(label: "sluice.accept")
        accepting.async { [core, listener, loops] in acceptClients(listener, loops: loops, core: core) }
        core.logger.info(
            "listening",
            metadata: ["address": "\(address)", "port": "\(port)", "tls": "\(core.isSecure)"])
        warnOfFewDescriptors()

        try? await gracefulShutdown()
        let end = configuration.drain.begin()
        beginToLeave()
        core.isDraining.store(true, ordering: .sequentiallyConsistent)
        listener.stopAccepting()
        await ended(accepting)
        listener.close()
        await wait(until: min(end, .now + .seconds(1))) { core.hasNewcomers }
        await waitForAnswers(until: end)
        core.isStopping.store(true, ordering: .sequentiallyConsistent)
        for connection in core.connections { connection.abort() }
        // Requests that were just given up still get their 503, and their tasks end what they have begun.
        await wait(until: .now + .seconds(1)) {
            core.openExchanges.load(ordering: .relaxed) > 0 || core.runningTasks.load(ordering: .relaxed) > 0
        }
    }

    /// Returns once each of the event loops has been between two turns of its work: none of them hangs.
    ///
    /// - Returns: Whether all of them still run.
    public func turn() async -> Bool {
        var allRun = true
        for loop in loops where await !loop.events.turn() { allRun = false }
        return allRun
    }

    private func warnOfFewDescriptors() {
        let room = core.descriptorLimit - configuration.reservedDescriptors
        guard room < configuration.maxConnections else { return }
        core.logger.warning(
            "the limit of open files allows fewer connections than the configuration",
            metadata: ["connections": "\(max(0, room))", "limit": "\(core.descriptorLimit)"])
    }

    /// Waits until no request is open, or the task is cancelled.
    private func waitForAnswers(until deadline: ContinuousClock.Instant) async {
        await wait(until: deadline) { core.openExchanges.load(ordering: .relaxed) > 0 }
    }

    /// Waits while a condition holds, until the deadline, or until the task is cancelled.
    private func wait(until deadline: ContinuousClock.Instant, while isSo: () -> Bool) async {
        while isSo(), ContinuousClock.now < deadline, !Task.isCancelled {
            try? await Task.sleep(for: .milliseconds(5))
        }
    }
}

extension HTTPServerConfiguration {
    /// A quarter of the shortest timeout, between 10 ms and half a second.
    fileprivate var sweepInterval: Duration {
        let shortest = min(idleTimeout, requestTimeout, answerDeadline)
        return max(.milliseconds(10), min(.milliseconds(500), shortest / 4))
    }
}

/// Waits for the remaining work of the queue.
private func ended(_ queue: DispatchQueue) async {
    await withCheckedContinuation { continuation in
        queue.async { continuation.resume() }
    }
}

/// Accepts clients until the listener stops. Clients beyond the limits get 503 and are closed.
private func acceptClients(_ listener: ListeningSocket, loops: [ServerLoop], core: ServerCore) {
    var turn = 0
    while var client = listener.accept() {
        let key = unsafe withUnsafePointer(to: &client.address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { unsafe SocketAddress(reading: $0).key }
        }
        guard core.admit(key, socket: client.socket) else {
            core.refusedClients.add()
            if !core.isSecure {
                let failure = ServerFailure.unavailable(
                    retryAfter: core.configuration.retryAfter, lacking: .connections)
                sendNow(core.rawAnswer(to: failure), to: client.socket)
                shutdown(client.socket, Int32(SHUT_WR))
            }
            close(client.socket)
            continue
        }
        loops[turn].add(
            ServerLoop.Arrival(socket: client.socket, address: client.address, length: client.length, key: key))
        turn = (turn + 1) % loops.count
    }
}
