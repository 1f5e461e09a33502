import CLibCurl
import Glibc
import Synchronization

/// The data of libcurl's callbacks during a transfer. They are called on the transfers' thread.
final class TransferProgress: Sendable {
    private struct State {
        var body: [UInt8] = []
        var headBytes = 0
        var fields: [HTTPTransfer.Field] = []
        var failure: HTTPTransfer.Failure?
        var isPermitted = false
        var isRefused = false

        /// Reads a line of a head. The head of an interim answer is ignored.
        mutating func takeLine(_ line: String) {
            if line.hasPrefix("HTTP/") { fields = [] }
            guard let colon = line.utf8.firstIndex(of: UInt8(ascii: ":")) else { return }
            let value = line.utf8[line.utf8.index(after: colon)...].drop { $0 == 0x20 || $0 == 0x09 }
            let end = value.lastIndex { $0 > 0x20 }.map { value.index(after: $0) } ?? value.startIndex
            fields.append(.init(String(line[..<colon]), String(Substring(value[..<end]))))
        }
    }

    private static let maxHeadBytes = 16_384

    private let maxBytes: Int
    private let permits: HTTPTransfer.AddressCheck
    private let state = Mutex(State())

    init(maxBytes: Int, permits: @escaping HTTPTransfer.AddressCheck) {
        self.maxBytes = maxBytes
        self.permits = permits
    }

    /// Why the callbacks ended the transfer early, if they did.
    var failure: HTTPTransfer.Failure? { state.withLock { $0.failure } }

    /// Whether all addresses were refused.
    var isRefused: Bool { state.withLock { $0.isRefused && !$0.isPermitted } }

    /// Moves the body out.
    func takeBody() -> [UInt8] {
        state.withLock { state in
            defer { state.body = [] }
            return state.body
        }
    }

    /// Moves the fields of the head out.
    func takeFields() -> [HTTPTransfer.Field] {
        state.withLock { $0.fields }
    }

    /// Sets the callbacks. They get an unretained pointer: the caller holds this object until the handle is freed.
    func attach(to handle: UnsafeMutableRawPointer) -> CURLcode {
        unsafe sluice_curl_set_callbacks(
            handle, Unmanaged.passUnretained(self).toOpaque(), takeBodyPart, takeHeadPart, openSocket)
    }

    fileprivate func take(_ bytes: UnsafeRawBufferPointer, isHead: Bool) -> Bool {
        state.withLock { state in
            let isWithinLimit: Bool
            if isHead {
                state.headBytes += bytes.count
                isWithinLimit = state.headBytes <= Self.maxHeadBytes
                if isWithinLimit { state.takeLine(unsafe String(decoding: bytes, as: UTF8.self)) }
            } else {
                isWithinLimit = bytes.count <= maxBytes - state.body.count
                if isWithinLimit { unsafe state.body.append(contentsOf: bytes) }
            }
            if !isWithinLimit, state.failure == nil { state.failure = .tooLarge }
            return isWithinLimit
        }
    }

    /// Whether a connection may be opened. A name may have IPv4 and IPv6 addresses.
    fileprivate func permits(_ address: [UInt8]) -> Bool {
        let isPermitted = permits(address)
        state.withLock { state in
            if isPermitted { state.isPermitted = true } else { state.isRefused = true }
        }
        return isPermitted
    }

    fileprivate static func from(_ context: UnsafeMutableRawPointer?) -> TransferProgress? {
        guard let context = unsafe context else { return nil }
        return unsafe Unmanaged<TransferProgress>.fromOpaque(context).takeUnretainedValue()
    }
}

/// Called with each part of the body. Any result other than its length ends the transfer.
private func takeBodyPart(
    bytes: UnsafeMutablePointer<CChar>?, size: Int, count: Int, context: UnsafeMutableRawPointer?
) -> Int {
    unsafe take(bytes, count: size * count, context, isHead: false)
}

/// Called with each line of the head.
private func takeHeadPart(
    bytes: UnsafeMutablePointer<CChar>?, size: Int, count: Int, context: UnsafeMutableRawPointer?
) -> Int {
    unsafe take(bytes, count: size * count, context, isHead: true)
}

private func take(
    _ bytes: UnsafeMutablePointer<CChar>?, count: Int, _ context: UnsafeMutableRawPointer?, isHead: Bool
) -> Int {
    guard count > 0 else { return 0 }
    let buffer = unsafe UnsafeRawBufferPointer(start: bytes, count: count)
    return unsafe TransferProgress.from(context)?.take(buffer, isHead: isHead) == true ? count : 0
}

/// Called with an address of the name. Returns a socket for exactly that address.
private func openSocket(
    context: UnsafeMutableRawPointer?, purpose: curlsocktype, address: UnsafeMutablePointer<curl_sockaddr>?
) -> curl_socket_t {
    let refusal: curl_socket_t = -1
    guard let progress = unsafe TransferProgress.from(context), let address = unsafe address else { return refusal }
    let bytes: [UInt8]
    switch unsafe address.pointee.family {
    case AF_INET:
        bytes = unsafe withUnsafePointer(to: &address.pointee.addr) { pointer in
            let name = unsafe UnsafeRawPointer(pointer).loadUnaligned(as: sockaddr_in.self)
            return unsafe withUnsafeBytes(of: name.sin_addr) { unsafe Array($0) }
        }
    case AF_INET6:
        // libcurl reserves room for the whole address behind the field, whose own type is shorter.
        bytes = unsafe withUnsafePointer(to: &address.pointee.addr) { pointer in
            let name = unsafe UnsafeRawPointer(pointer).loadUnaligned(as: sockaddr_in6.self)
            return unsafe withUnsafeBytes(of: name.sin6_addr) { unsafe Array($0) }
        }
    default:
        return refusal
    }
    guard progress.permits(bytes) else { return refusal }
    return unsafe socket(
        address.pointee.family, address.pointee.socktype | Int32(SOCK_CLOEXEC.rawValue), address.pointee.protocol)
}
