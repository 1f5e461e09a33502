import CMicroHTTPD
import Glibc
import HTTPServing
import HTTPTypes

extension Exchange {
    /// Makes libmicrohttpd's response object without copying the body. The caller owns it.
    func makeResponse(_ response: ServerResponse, closes: Bool) -> OpaquePointer? {
        let made: OpaquePointer? =
            switch response.body {
            case .bytes(let bytes): unsafe wholeResponse(bytes)
            // As with HEAD, the length is told, and nothing is read (RFC 9110, 8.6).
            case .stream(let length?, _) where response.head.status.code == 304: unsafe streamedResponse(length)
            case .stream where !response.head.status.allowsBody: unsafe wholeResponse([])
            case .stream(let length, _): unsafe streamedResponse(length)
            }
        guard let made = unsafe made else { return nil }
        guard unsafe Self.add(response.head.headerFields, to: made) else {
            unsafe MHD_destroy_response(made)
            return nil
        }
        if closes { unsafe MHD_add_response_header(made, "Connection", "close") }
        return unsafe made
    }

    /// Adds the fields that the server does not write itself. libmicrohttpd copies them, and accepts no empty values.
    static func add(_ fields: HeaderFields, to response: OpaquePointer) -> Bool {
        unsafe fields.bytes.withUnsafeBytes { bytes in
            var start = 0
            while let place = fields.place(at: start), let base = bytes.baseAddress {
                start = place.next
                let name = unsafe UnsafeRawBufferPointer(rebasing: bytes[place.name..<place.nameEnd])
                guard place.value < place.end, unsafe !FieldBytes.isServers(name) else { continue }
                let added = unsafe MHD_add_response_header(
                    response, (base + place.name).assumingMemoryBound(to: CChar.self),
                    (base + place.value).assumingMemoryBound(to: CChar.self))
                guard added == MHD_Result.YES else { return false }
            }
            return true
        }
    }

    private func wholeResponse(_ bytes: [UInt8]) -> OpaquePointer? {
        sent = bytes
        // The storage of an array that nobody changes does not move. An empty array is never read.
        return unsafe sent.withUnsafeBytes {
            unsafe MHD_create_response_from_buffer(
                $0.count, UnsafeMutableRawPointer(mutating: $0.baseAddress), .RESPMEM_PERSISTENT)
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
        // libmicrohttpd 0.9.75 ends a chunked answer to HEAD with a last chunk, which the client would take for the
        // next answer.
        if length == nil, isHead { unsafe sluice_end_with_connection(made) }
        return unsafe made
    }
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

/// A whole answer as bytes, to be written directly to the socket; `nil` if its body is a stream.
///
/// - Parameter isHead: Whether the answer consists of a head only.
func rawBytes(of response: ServerResponse, isHead: Bool) -> [UInt8]? {
    guard case .bytes(let body) = response.body else { return nil }
    let status = response.head.status
    var bytes = Array("HTTP/1.1 \(status.code) \(status.reasonPhrase)\r\n".utf8)
    let fields = response.head.headerFields
    var start = 0
    while let place = fields.place(at: start) {
        start = place.next
        let isServers = unsafe fields.bytes.withUnsafeBytes {
            unsafe FieldBytes.isServers(UnsafeRawBufferPointer(rebasing: $0[place.name..<place.nameEnd]))
        }
        if isServers { continue }
        bytes += fields.bytes[place.name..<place.nameEnd] + ": ".utf8
        bytes += fields.bytes[place.value..<place.end] + "\r\n".utf8
    }
    // 304 tells the length of the body that it leaves out; 204 tells none (RFC 9110, 8.6).
    if status.allowsBody || status.code == 304 { bytes += "Content-Length: \(body.count)\r\n".utf8 }
    bytes += "Date: \(httpDate())\r\nConnection: close\r\n\r\n".utf8
    return isHead || !status.allowsBody ? bytes : bytes + body
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
