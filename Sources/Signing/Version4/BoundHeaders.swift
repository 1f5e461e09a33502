/// The headers that a signature binds: those of the request and those that the signer writes. Each occurs once; the
/// names are in lower case and sorted.
struct BoundHeaders {
    /// The headers.
    let fields: [NamedValue]
    /// Their part of a canonical request.
    let section: HeaderSection

    /// Gathers the headers.
    ///
    /// - Parameters:
    ///   - given: Headers of the request. One that the signer writes may be among them with the same value.
    ///   - own: Headers that the signer writes, names in lower case; not `host`.
    ///   - address: Gives the value of `host`.
    ///   - bindsHost: Whether `host` is bound even if the request does not give it.
    ///   - form: How the vendor writes headers.
    ///   - vendor: Vendor whose rules restrict the names; `nil` for none.
    /// - Throws: ``SigningError`` for headers that cannot be sent or bound.
    init(
        _ given: [NamedValue], own: [NamedValue], address: BucketAddress, bindsHost: Bool, form: CanonicalHeaderForm,
        vendor: StoreVendor?
    ) throws(SigningError) {
        let names = try Self.names(of: given, vendor: vendor)
        var fields: [NamedValue] = []
        for (name, header) in zip(names, given) {
            try Self.check(header)
            guard name != Self.host || header.value == address.authority else { throw .reservedHeader(header.name) }
            fields.append(NamedValue(name, header.value))
        }
        for header in bindsHost ? [NamedValue(Self.host, address.authority)] + own : own {
            try Self.check(header)
            if let same = fields.first(where: { $0.name == header.name }) {
                guard same.value == header.value else { throw .reservedHeader(header.name) }
            } else {
                fields.append(header)
            }
        }
        self.init(fields.sorted { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }, form: form)
    }

    /// Takes headers whose names are in lower case, sorted and distinct.
    init(_ fields: [NamedValue], form: CanonicalHeaderForm) {
        self.fields = fields
        section = HeaderSection(names: fields.map(\.name), form: form)
    }

    static let host = "host"

    /// The names of a request's headers in lower case.
    ///
    /// - Throws: ``SigningError`` for names that cannot be sent or bound, or occur twice.
    static func names(of headers: [NamedValue], vendor: StoreVendor?) throws(SigningError) -> [String] {
        var names: [String] = []
        for header in headers {
            let name = try HeaderName.lowerCased(header.name, allowingSlash: vendor == .google)
            guard !names.contains(name) else { throw .duplicateHeader(header.name) }
            guard name != "authorization" else { throw .reservedHeader(header.name) }
            guard vendor != .google || !name.utf8.starts(with: V4Dialect.aws.headerPrefix.utf8) else {
                throw .headerNotBindable(header.name)
            }
            names.append(name)
        }
        return names
    }

    private static func check(_ header: NamedValue) throws(SigningError) {
        guard HeaderValue.isSendable(header.value) else { throw .invalidHeaderValue(name: header.name) }
    }

    /// The headers that the caller must set: all but `host`, which every client adds.
    var toSend: [NamedValue] { fields.filter { $0.name != Self.host } }

    /// Bytes that they need at the end of a canonical request, at most.
    var byteCount: Int {
        fields.indices.reduce(section.byteCount) {
            $0 + section.valueCount(at: $1) * fields[$1].value.utf8.count
        }
    }

    /// Appends the end of a canonical request.
    func append(payload: String?, to output: inout OutputSpan<UInt8>) {
        for place in fields.indices { _ = section.appendLine(at: place, fields[place].value, to: &output) }
        section.appendEnd(payload: payload, to: &output) { fields[$0].value }
    }
}
