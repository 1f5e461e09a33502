import CMicroHTTPD
import Glibc

/// Owns one `MHD_Daemon`, which has no thread of its own.
///
/// - Invariant: Pointer and descriptor are constant from start to stop. Everything but `init` is called on the thread
///   of its event loop, `stop()` as the last. A daemon that no loop took stops when it is released.
@safe final class Daemon: @unchecked Sendable {
    private let pointer: OpaquePointer
    /// A descriptor that is readable when ``work()`` has something to do.
    let epollDescriptor: Int32

    private var isStopped = false

    /// Starts a daemon; `loop` must live until the daemon has stopped.
    init(loop: ServerLoop, tls: CertificateAndKey?) throws(HTTPServerError) {
        let limits = loop.core.configuration
        var flags =
            MHD_USE_EPOLL.rawValue | MHD_ALLOW_SUSPEND_RESUME.rawValue | MHD_USE_NO_LISTEN_SOCKET.rawValue
            | MHD_USE_ERROR_LOG.rawValue
        let options: [(MHD_OPTION, Int)] = [
            (.CONNECTION_MEMORY_LIMIT, limits.connectionBytes),
            // This timeout affects only clients that do not read their answers. For everything else the sweep comes
            // first and sends a reason.
            (.CONNECTION_TIMEOUT, Int((limits.idleTimeout / .seconds(1)).rounded(.up)) + 2),
            // The limits are enforced when clients are accepted. This one must only not take effect earlier.
            (.CONNECTION_LIMIT, limits.maxConnections + 64),
        ]
        var texts: [UnsafeMutablePointer<CChar>?] = unsafe []
        defer { unsafe texts.forEach { unsafe free($0) } }
        var items = unsafe options.map { unsafe MHD_OptionItem(option: $0.0, value: $0.1, ptr_value: nil) }
        if let tls {
            guard MHD_is_feature_supported(.FEATURE_TLS) == MHD_Result.YES else { throw .tlsUnsupported }
            flags |= MHD_USE_TLS.rawValue
            let priorities = "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2"
            let settings: [(MHD_OPTION, String)] = [
                (.HTTPS_MEM_CERT, tls.certificate),
                (.HTTPS_MEM_KEY, tls.key),
                (.HTTPS_PRIORITIES, priorities),
            ]
            for (option, text) in settings {
                let copy = unsafe strdup(text)
                unsafe texts.append(copy)
                unsafe items.append(MHD_OptionItem(option: option, value: 0, ptr_value: copy))
            }
        }
        unsafe items.append(MHD_OptionItem(option: .END, value: 0, ptr_value: nil))
        let context = unsafe Unmanaged.passUnretained(loop).toOpaque()
        let started = unsafe sluice_start_daemon(
            flags, context, messageLogged, requestArrived, requestBegan, requestCompleted, socketChanged, &items)
        guard let pointer = unsafe started else { throw .cannotStart }
        unsafe self.pointer = pointer
        epollDescriptor = unsafe sluice_epoll_descriptor(pointer)
    }

    /// How long libmicrohttpd can wait if nothing happens, in milliseconds: 0 if it has work, -1 for ever.
    var timeout: Int32 {
        var milliseconds: UInt64 = 0
        guard unsafe MHD_get_timeout(pointer, &milliseconds) == MHD_Result.YES else { return -1 }
        return Int32(clamping: milliseconds)
    }

    /// Does all work that needs no waiting.
    func work() {
        unsafe MHD_run(pointer)
    }

    /// Adds a connected socket, which libmicrohttpd then owns and closes; `false` if it cannot take more.
    func add(_ socket: Int32, address: inout sockaddr_storage, length: socklen_t) -> Bool {
        unsafe withUnsafePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe MHD_add_connection(self.pointer, socket, $0, length) == MHD_Result.YES
            }
        }
    }

    /// Number of open connections.
    var connectionCount: Int { unsafe Int(sluice_connection_count(pointer)) }

    /// Closes all connections. None may be suspended.
    func stop() {
        guard !isStopped else { return }
        isStopped = true
        unsafe MHD_stop_daemon(pointer)
    }

    deinit { stop() }
}
