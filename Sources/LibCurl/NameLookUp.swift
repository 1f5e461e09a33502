import Glibc

/// Finds the addresses of a name, as text, best first. It may block. Without addresses the result is empty.
public typealias NameLookUp = @Sendable (_ name: String) -> [String]

/// Asks the system for the addresses of a name: first its files, then its name servers, without a time limit.
@Sendable public func systemNameLookUp(_ name: String) -> [String] {
    addresses(of: name, flags: 0)
}

/// The address if the name is an address itself, in any form that the system accepts. No server is asked.
func literalAddresses(in name: String) -> [String] {
    addresses(of: name, flags: AI_NUMERICHOST)
}

private func addresses(of name: String, flags: Int32) -> [String] {
    var hints = unsafe addrinfo()
    unsafe hints.ai_family = AF_UNSPEC
    unsafe hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
    unsafe hints.ai_flags = flags
    var list: UnsafeMutablePointer<addrinfo>?
    guard unsafe getaddrinfo(name, nil, &hints, &list) == 0 else { return [] }
    defer { unsafe freeaddrinfo(list) }
    var found: [String] = []
    var entry = unsafe list
    while let current = unsafe entry {
        if let text = unsafe text(of: current.pointee.ai_addr), !found.contains(text) { found.append(text) }
        unsafe entry = current.pointee.ai_next
    }
    return found
}

/// Addresses with a zone are valid on one link only, and are left out because they cannot be passed on.
private func text(of address: UnsafeMutablePointer<sockaddr>?) -> String? {
    guard let address = unsafe address else { return nil }
    var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
    let length = socklen_t(text.count)
    let isWritten =
        switch unsafe Int32(address.pointee.sa_family) {
        case AF_INET:
            unsafe address.withMemoryRebound(to: sockaddr_in.self, capacity: 1) {
                unsafe inet_ntop(AF_INET, &$0.pointee.sin_addr, &text, length) != nil
            }
        case AF_INET6:
            unsafe address.withMemoryRebound(to: sockaddr_in6.self, capacity: 1) {
                unsafe $0.pointee.sin6_scope_id == 0 && inet_ntop(AF_INET6, &$0.pointee.sin6_addr, &text, length) != nil
            }
        default: false
        }
    guard isWritten else { return nil }
    return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
}
