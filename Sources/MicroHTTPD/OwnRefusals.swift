import CMicroHTTPD
import HTTPServing
import HTTPTypes

/// Replaces libmicrohttpd's own refusals by those of the service.
///
/// libmicrohttpd 0.9.75 refuses a request with a page of its own if it cannot read the request or the memory of the
/// connection is too small. It has no callback for that. It passes the page to `MHD_queue_response`, which the dynamic
/// linker finds here first. Our own answers go through `sluice_queue_response` to libmicrohttpd. Its status is 414 for
/// a request line that is too long, 431 for header fields that are too long or too many, 505 for another protocol, and
/// others for malformed requests.
@_cdecl("MHD_queue_response")
public func refuseForLibrary(_ connection: OpaquePointer?, _ status: UInt32, _ page: OpaquePointer?) -> UInt32 {
    guard let connection = unsafe connection, let socket = unsafe sluice_socket_context(connection) else { return 0 }
    let client = unsafe Unmanaged<ClientConnection>.fromOpaque(socket).takeUnretainedValue()
    let exchange = client.exchange
    let isHeadNew = exchange.map { $0.stage == .head } ?? false
    let failure: ServerFailure =
        switch status {
        case 414: .uriTooLong
        case 431: .headerFieldsTooLarge(maxBytes: client.core.configuration.maxHeadBytes)
        case 505: .badRequest("The protocol must be HTTP/1.1.")
        default:
            if unsafe isHeadNew && HeadGuard.hasMalformedLength(connection) {
                .badRequest("There must be at most one Content-Length field, which must consist of digits.")
            } else {
                .badRequest("The request is malformed.")
            }
        }
    let response = exchange?.refusal(failure) ?? client.core.responder.response(to: failure)
    // If the head is complete and new, libmicrohttpd continues as if nothing had happened, and would send the head of
    // the answer twice.
    if isHeadNew, unsafe sluice_head_size(connection) > 0 { client.answerAtOnce(response) }
    exchange?.isRefused()
    guard let made = unsafe copiedResponse(response) else {
        return unsafe sluice_queue_response(connection, status, page).rawValue
    }
    defer { unsafe MHD_destroy_response(made) }
    return unsafe sluice_queue_response(connection, UInt32(response.head.status.code), made).rawValue
}

/// Makes a whole answer that libmicrohttpd copies. The caller owns it.
private func copiedResponse(_ response: ServerResponse) -> OpaquePointer? {
    guard case .bytes(let bytes) = response.body else { return nil }
    let made = unsafe bytes.withUnsafeBytes {
        unsafe MHD_create_response_from_buffer(
            $0.count, UnsafeMutableRawPointer(mutating: $0.baseAddress), .RESPMEM_MUST_COPY)
    }
    guard let made = unsafe made else { return nil }
    guard unsafe Exchange.add(response.head.headerFields, to: made) else {
        unsafe MHD_destroy_response(made)
        return nil
    }
    return unsafe made
}
