/// The headers that a signature shall bind: those of the request and those that the signer writes, each once.
struct BoundHeaders {
    /// Names in lower case.
    private(set) var fields: [(name: [UInt8], value: String)] = []

    /// Gathers the headers.
    ///
    /// - Parameters:
    ///   - given: Headers of the request. One that the signer writes may be among them with the same value.
    ///   - own: Headers that the signer writes, names in lower case; not `host`.
    ///   - address: Gives the value of `host`.
    ///   - bindsHost: Whether `host` is bound when nobody asks for it.
    ///   - vendor: Whose scheme, where that says what names are allowed.
    /// - Throws: ``SigningError`` for headers that cannot be sent, or not so.
    init(
        _ given: [NamedValue], own: [NamedValue] = [], address: BucketAddress, bindsHost: Bool,
        vendor: V4Dialect.Vendor?
    ) throws(SigningError) {
        fields.reserveCapacity(given.count + own.count + 1)
        for header in given {
            let name = try CanonicalHeaders.lowerCased(header.name, allowingSlash: vendor == .gcs)
            try Self.check(header)
            guard !fields.contains(where: { $0.name == name }) else { throw .duplicateHeader(header.name) }
            guard name != Self.authorization else { throw .reservedHeader(header.name) }
            guard name != Self.host || header.value == address.authority else { throw .reservedHeader(header.name) }
            guard vendor != .gcs || !name.starts(with: V4Dialect.aws.headerPrefix.utf8) else {
                throw .headerNotBindable(header.name)
            }
            fields.append((name, header.value))
        }
        if bindsHost { try add(Self.host, address.authority) }
        for header in own {
            try Self.check(header)
            try add(Array(header.name.utf8), header.value)
        }
    }

    private static func check(_ header: NamedValue) throws(SigningError) {
        guard !header.value.utf8.contains(where: { $0 == 0x0A || $0 == 0x0D || $0 == 0 }) else {
            throw .invalidHeaderValue(name: header.name)
        }
    }

    private mutating func add(_ name: [UInt8], _ value: String) throws(SigningError) {
        if let given = fields.first(where: { $0.name == name }) {
            guard given.value == value else { throw .reservedHeader(String(decoding: name, as: UTF8.self)) }
        } else {
            fields.append((name, value))
        }
    }

    /// What the client has to send itself: all but `host`, which every client sends.
    var toSend: [NamedValue] {
        fields.filter { $0.name != Self.host }.map { NamedValue(String(decoding: $0.name, as: UTF8.self), $0.value) }
    }

    private static let host = Array("host".utf8)
    private static let authorization = Array("authorization".utf8)
}
