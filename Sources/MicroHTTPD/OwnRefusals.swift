import CMicroHTTPD
import HTTPServing
import HTTPTypes

/// Refuses a request as the service does, where libmicrohttpd would by itself.
///
/// libmicrohttpd 0.9.75 refuses what it cannot read, and what does not fit into the memory of a connection, with a
/// page of its own, and has no callback for that. But it passes that page to `MHD_queue_response`, which the
/// dynamic linker finds here first; our own answers go to `sluice_queue_response` and so to libmicrohttpd. It says
/// 414 of a first line that is too long, 431 of header fields that are too long or too many, 505 of another
/// protocol, and other statuses of what is malformed.
@_cdecl("MHD_queue_response")
public func refuseForLibrary(_ connection: OpaquePointer?, _ status: UInt32, _ page: OpaquePointer?) -> UInt32 {
    guard let connection = unsafe connection, let socket = unsafe sluice_socket_context(connection) else { return 0 }
    let client = unsafe Unmanaged<ClientConnection>.fromOpaque(socket).takeUnretainedValue()
    let exchange = client.exchange
    let isHeadNew = exchange.map { $0.stage == .head } ?? false
    let failure: ServerFailure =
        switch status {
        case 414: .uriTooLong
        case 431: .headerFieldsTooLarge
        case 505: .badRequest("The protocol must be HTTP/1.1.")
        default:
            if unsafe isHeadNew && HeadGuard.hasMalformedLength(connection) {
                .badRequest("There may be one Content-Length field, of digits.")
            } else {
                .badRequest("The request is malformed.")
            }
        }
    let response = client.core.responder.response(to: failure)
    // Where the head is complete and new, it goes on as if nothing had
    // happened, and would send the head of the answer twice.
    if isHeadNew, unsafe sluice_head_size(connection) > 0 { client.answerAtOnce(response) }
    exchange?.isRefused()
    guard let made = unsafe copiedResponse(response) else {
        return unsafe sluice_queue_response(connection, status, page).rawValue
    }
    defer { unsafe MHD_destroy_response(made) }
    return unsafe sluice_queue_response(connection, UInt32(response.head.status.code), made).rawValue
}

/// A whole answer of which libmicrohttpd keeps a copy; the caller owns it.
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
