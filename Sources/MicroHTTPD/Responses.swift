import CMicroHTTPD
import Glibc
import HTTPServing
import HTTPTypes

/// Keeps the bytes of an answer where libmicrohttpd reads them.
///
/// - Invariant: `bytes` never changes, so its storage stays in place as long as this object lives, which is until the free
///   callback of the response object releases it.
private final class ResponseOwner: Sendable {
    let bytes: [UInt8]

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }
}

/// Fields that the server writes itself.
private func isServers(_ name: HTTPField.Name) -> Bool {
    switch name.canonicalName {
    case "content-length", "connection", "date", "transfer-encoding", "keep-alive": true
    default: false
    }
}

extension Exchange {
    /// Makes libmicrohttpd's response object, which copies no byte of the body; the caller owns it.
    func makeResponse(_ response: ServerResponse, closes: Bool) -> OpaquePointer? {
        let made: OpaquePointer? =
            switch response.body {
            case .bytes(let bytes): unsafe Self.response(of: bytes)
            case .stream where !response.head.status.allowsBody: unsafe Self.response(of: [])
            case .stream(let length, _): unsafe streamedResponse(length)
            }
        guard let made = unsafe made else { return nil }
        for field in response.head.headerFields where !isServers(field.name) && !field.value.isEmpty {
            guard unsafe MHD_add_response_header(made, field.name.rawName, field.value) == MHD_Result.YES else {
                unsafe MHD_destroy_response(made)
                return nil
            }
        }
        if closes { unsafe MHD_add_response_header(made, "Connection", "close") }
        return unsafe made
    }

    private static func response(of bytes: [UInt8]) -> OpaquePointer? {
        guard !bytes.isEmpty else { return unsafe MHD_create_response_from_buffer(0, nil, .RESPMEM_PERSISTENT) }
        let owner = ResponseOwner(bytes)
        return unsafe owner.bytes.withUnsafeBytes { buffer in
            let context = unsafe Unmanaged.passRetained(owner).toOpaque()
            let made = unsafe MHD_create_response_from_buffer_with_free_callback_cls(
                buffer.count, UnsafeMutableRawPointer(mutating: buffer.baseAddress), releaseOwner, context
            )
            if unsafe made == nil { unsafe Unmanaged<ResponseOwner>.fromOpaque(context).release() }
            return unsafe made
        }
    }

    private func streamedResponse(_ length: Int64?) -> OpaquePointer? {
        let context = unsafe Unmanaged.passRetained(self).toOpaque()
        let made = unsafe MHD_create_response_from_callback(
            length.map { UInt64(max(0, $0)) } ?? UInt64.max, 32 * 1_024, readContent, context, releaseExchange
        )
        guard let made = unsafe made else {
            unsafe Unmanaged<Exchange>.fromOpaque(context).release()
            return nil
        }
        // libmicrohttpd 0.9.75 ends a chunked answer to HEAD with a last chunk, which the client would take for the beginning
        // of the next answer.
        if length == nil, head?.request.method == .head { unsafe sluice_end_with_connection(made) }
        return unsafe made
    }
}

private func releaseOwner(context: UnsafeMutableRawPointer?) {
    guard let context = unsafe context else { return }
    unsafe Unmanaged<ResponseOwner>.fromOpaque(context).release()
}

private func releaseExchange(context: UnsafeMutableRawPointer?) {
    guard let context = unsafe context else { return }
    unsafe Unmanaged<Exchange>.fromOpaque(context).release()
}

private func readContent(
    context: UnsafeMutableRawPointer?, position: UInt64, buffer: UnsafeMutablePointer<CChar>?, size: Int
) -> Int {
    guard let context = unsafe context else { return Int(MHD_CONTENT_READER_END_WITH_ERROR) }
    let exchange = unsafe Unmanaged<Exchange>.fromOpaque(context).takeUnretainedValue()
    return unsafe exchange.readOutput(into: UnsafeMutableRawBufferPointer(start: buffer, count: size))
}

/// A whole answer as bytes, for where libmicrohttpd takes none; `nil` where its body is a stream.
func rawBytes(of response: ServerResponse) -> [UInt8]? {
    guard case .bytes(let body) = response.body else { return nil }
    var text = "HTTP/1.1 \(response.head.status.code) \(response.head.status.reasonPhrase)\r\n"
    for field in response.head.headerFields where !isServers(field.name) {
        text += "\(field.name.rawName): \(field.value)\r\n"
    }
    text += "Date: \(httpDate())\r\nContent-Length: \(body.count)\r\nConnection: close\r\n\r\n"
    return Array(text.utf8) + body
}

/// The time now as RFC 9110, 5.6.7 writes it.
private func httpDate() -> String {
    let days = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
    let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
    var seconds = time(nil)
    var parts = unsafe tm()
    unsafe gmtime_r(&seconds, &parts)
    let two = { (number: Int32) in number < 10 ? "0\(number)" : "\(number)" }
    let clock = unsafe "\(two(parts.tm_hour)):\(two(parts.tm_min)):\(two(parts.tm_sec))"
    let date = unsafe "\(two(parts.tm_mday)) \(months[Int(parts.tm_mon)]) \(parts.tm_year + 1_900)"
    return unsafe "\(days[Int(parts.tm_wday)]), \(date) \(clock) GMT"
}
