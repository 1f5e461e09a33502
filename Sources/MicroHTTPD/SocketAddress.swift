import CMicroHTTPD
import Glibc

/// A client's address: its text, and the key by which its connections are counted.
struct SocketAddress: Sendable {
    /// The IPv4 address, or the /64 network of an IPv6 address, because a single host can use a whole /64.
    struct Key: Hashable, Sendable {
        var family: Int32
        var bits: UInt64
    }

    var text: String
    var key: Key

    /// Reads the system's structure. An IPv4 address mapped into IPv6 is treated as IPv4.
    init(reading address: UnsafePointer<sockaddr>) {
        if unsafe Int32(address.pointee.sa_family) == AF_INET6 {
            let bytes = unsafe UnsafeRawPointer(address).loadUnaligned(as: sockaddr_in6.self).sin6_addr
            self = Self.ipv6(unsafe withUnsafeBytes(of: bytes) { unsafe Array($0) })
        } else {
            let bytes = unsafe UnsafeRawPointer(address).loadUnaligned(as: sockaddr_in.self).sin_addr
            self = Self.ipv4(unsafe withUnsafeBytes(of: bytes) { unsafe Array($0) })
        }
    }

    private init(text: String, key: Key) {
        self.text = text
        self.key = key
    }

    private static func ipv4(_ bytes: [UInt8]) -> Self {
        let bits = bytes.reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        return Self(text: bytes.map { String($0) }.joined(separator: "."), key: Key(family: AF_INET, bits: bits))
    }

    private static func ipv6(_ bytes: [UInt8]) -> Self {
        let mapped: [UInt8] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF]
        if bytes.starts(with: mapped) { return ipv4(Array(bytes[12...])) }
        let bits = bytes.prefix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
        _ = unsafe bytes.withUnsafeBytes { source in
            unsafe text.withUnsafeMutableBufferPointer { target in
                unsafe inet_ntop(AF_INET6, source.baseAddress, target.baseAddress, socklen_t(target.count))
            }
        }
        let end = text.firstIndex(of: 0) ?? text.endIndex
        return Self(
            text: String(decoding: text[..<end].map { UInt8(bitPattern: $0) }, as: UTF8.self),
            key: Key(family: AF_INET6, bits: bits)
        )
    }
}
