import CMicroHTTPD
import Glibc
import Logging

// The functions that libmicrohttpd calls. `context` is the event loop, which outlives the daemon.

/// Called when the request line has arrived. Makes the exchange and retains it until `requestCompleted` releases it.
func requestBegan(
    context: UnsafeMutableRawPointer?, target: UnsafePointer<CChar>?, connection: OpaquePointer?
) -> UnsafeMutableRawPointer? {
    guard let context = unsafe context, let connection = unsafe connection,
        let socket = unsafe sluice_socket_context(connection)
    else { return nil }
    let loop = unsafe Unmanaged<ServerLoop>.fromOpaque(context).takeUnretainedValue()
    let client = unsafe Unmanaged<ClientConnection>.fromOpaque(socket).takeUnretainedValue()
    let exchange = unsafe Exchange(
        loop: loop, client: client, connection: connection, target: TargetLine(reading: target))
    if let target = unsafe target { unsafe TargetLine.hideQuery(in: target) }
    client.begin(exchange)
    return unsafe Unmanaged.passRetained(exchange).toOpaque()
}

/// Called when the head, a piece of the body or its end has arrived, and when a resumed connection continues.
func requestArrived(
    context: UnsafeMutableRawPointer?, connection: OpaquePointer?, target: UnsafePointer<CChar>?,
    method: UnsafePointer<CChar>?, version: UnsafePointer<CChar>?, data: UnsafePointer<CChar>?,
    size: UnsafeMutablePointer<Int>?, state: UnsafeMutablePointer<UnsafeMutableRawPointer?>?
) -> MHD_Result {
    guard let opaque = unsafe state?.pointee, let target = unsafe target, let method = unsafe method,
        let version = unsafe version, let size = unsafe size
    else { return MHD_Result.NO }
    let exchange = unsafe Unmanaged<Exchange>.fromOpaque(opaque).takeUnretainedValue()
    let line = unsafe HeadGuard.RequestLine(method: method, target: target, version: version)
    let bytes = unsafe UnsafeRawBufferPointer(start: data, count: data == nil ? 0 : size.pointee)
    return unsafe exchange.handle(line: line, data: bytes, left: &size.pointee) ? MHD_Result.YES : MHD_Result.NO
}

/// Called once per request, however it ended: answered, timed out or cut off by the client.
func requestCompleted(
    context: UnsafeMutableRawPointer?, connection: OpaquePointer?,
    state: UnsafeMutablePointer<UnsafeMutableRawPointer?>?, how: MHD_RequestTerminationCode
) {
    guard let opaque = unsafe state?.pointee else { return }
    let exchange = unsafe Unmanaged<Exchange>.fromOpaque(opaque)
    unsafe exchange.takeUnretainedValue().complete()
    unsafe exchange.release()
    unsafe state?.pointee = nil
}

/// Called when a socket is added, and before it is closed. Retains and releases the object that describes it.
func socketChanged(
    context: UnsafeMutableRawPointer?, connection: OpaquePointer?,
    state: UnsafeMutablePointer<UnsafeMutableRawPointer?>?, what: MHD_ConnectionNotificationCode
) {
    guard let context = unsafe context, let connection = unsafe connection, let state = unsafe state else { return }
    let loop = unsafe Unmanaged<ServerLoop>.fromOpaque(context).takeUnretainedValue()
    if what == .CONNECTION_NOTIFY_STARTED {
        guard let address = unsafe sluice_client_address(connection) else { return }
        let client = unsafe ClientConnection(
            socket: sluice_socket(connection), address: SocketAddress(reading: address), core: loop.core)
        loop.core.register(client)
        unsafe state.pointee = Unmanaged.passRetained(client).toOpaque()
    } else if let opaque = unsafe state.pointee {
        let client = unsafe Unmanaged<ClientConnection>.fromOpaque(opaque)
        unsafe client.takeUnretainedValue().close()
        loop.core.unregister(unsafe client.takeUnretainedValue())
        unsafe client.release()
        unsafe state.pointee = nil
    }
}

/// Called with libmicrohttpd's own messages. Most are about mistakes of clients, which must not fill the log.
func messageLogged(context: UnsafeMutableRawPointer?, format: UnsafePointer<CChar>?, arguments: CVaListPointer?) {
    guard let context = unsafe context, let format = unsafe format, let arguments = unsafe arguments else { return }
    let loop = unsafe Unmanaged<ServerLoop>.fromOpaque(context).takeUnretainedValue()
    guard loop.core.logger.logLevel <= .debug else { return }
    var text = [CChar](repeating: 0, count: 512)
    let length = unsafe text.withUnsafeMutableBufferPointer {
        unsafe Int(vsnprintf($0.baseAddress, $0.count, format, arguments))
    }
    let bytes = text.prefix(max(0, min(length, text.count - 1))).map { UInt8(bitPattern: $0) }
    let message = String(decoding: bytes, as: UTF8.self)
    loop.core.logger.debug("libmicrohttpd", metadata: ["text": "\(message.filter { !$0.isNewline })"])
}
