import LibCrypto

/// What is the same in all URLs of a key whose requests bind headers of the same names: the query but time and life, and the
/// lines of the headers but the values.
///
/// To prepare it costs as much as to sign several times, so that a key keeps the latest ones.
final class V4Template: Sendable {
    /// The names of the headers as the requests give them, in their order.
    private let givenNames: [String]
    /// For each bound header, in the order of their names, its place in the request; `nil` for `host`.
    private let sources: [Int?]
    /// The place of `host` in the request, where that gives it.
    private let hostSource: Int?
    private let section: HeaderSection
    /// The query up to the time, from there to the life, and from there on, and where in it these pieces end.
    private let query: [UInt8]
    private let timePlace: Int
    private let lifePlace: Int

    private static let lifeDigits = 6

    /// Prepares for requests with the headers of one, and with its query.
    ///
    /// - Throws: ``SigningError`` for names of headers that cannot be bound.
    init(_ request: PresignRequest, key: SigningKeyV4) throws(SigningError) {
        let dialect = key.dialect
        var bound: [(name: String, source: Int?)] = []
        for (place, name) in try BoundHeaders.names(of: request.headers, vendor: dialect.vendor).enumerated() {
            bound.append((name, place))
        }
        if dialect.bindsHost, !bound.contains(where: { $0.name == BoundHeaders.host }) {
            bound.append((BoundHeaders.host, nil))
        }
        bound.sort { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
        hostSource = bound.first { $0.name == BoundHeaders.host }?.source
        givenNames = request.headers.map(\.name)
        sources = bound.map(\.source)
        section = HeaderSection(names: bound.map(\.name), form: dialect.headerForm)
        (query, timePlace, lifePlace) = Self.query(
            CanonicalQuery(request.query, writesBareNames: dialect.writesBareNames), key: key, names: section.names)
    }

    /// The signer's own parameters but the signature, and the others, each in its place.
    private static func query(
        _ others: CanonicalQuery, key: SigningKeyV4, names: String
    ) -> (text: [UInt8], timePlace: Int, lifePlace: Int) {
        var text: [UInt8] = []
        var places = (time: 0, life: 0)
        var place = 0
        for parameter in key.parameters {
            while place < others.count, others.name(at: place, precedes: parameter.name) {
                text += others[place] + Array("&".utf8)
                place += 1
            }
            if case .headerNames = parameter.rest, names.isEmpty { continue }
            text += parameter.text
            switch parameter.rest {
            case .nothing: break
            case .time: places.time = text.count
            case .life: places.life = text.count
            case .headerNames: PercentEncoding.append(names, keeping: PercentEncoding.unreserved, to: &text)
            }
            text += "&".utf8
        }
        while place < others.count {
            text += others[place] + Array("&".utf8)
            place += 1
        }
        text.removeLast()
        return (text, places.time, places.life)
    }

    /// Whether a request binds headers of the same names, in the same order.
    func fits(_ headers: [NamedValue]) -> Bool {
        guard headers.count == givenNames.count else { return false }
        for place in headers.indices {
            guard headers[place].name.isSameBytes(as: givenNames[place]) else { return false }
        }
        return true
    }

    /// Room that query and headers of a request take.
    func byteCount(of request: PresignRequest) -> Int {
        var count = query.count + SigningInstant.timeByteCount + Self.lifeDigits + section.byteCount
        for place in sources.indices {
            let value = sources[place].map { request.headers[$0].value } ?? request.address.authority
            count += section.valueCount(at: place) * value.utf8.count
        }
        return count
    }

    /// Appends the query of a request.
    func appendQuery(expiresInSeconds life: Int, at instant: SigningInstant, to output: inout OutputSpan<UInt8>) {
        let query = query
        output.append(copying: query.span.extracting(0..<timePlace))
        instant.appendTime(to: &output)
        output.append(copying: query.span.extracting(timePlace..<lifePlace))
        appendSeconds(life, to: &output)
        output.append(copying: query.span.extracting(lifePlace..<query.count))
    }

    /// Appends the end of the canonical request of a request.
    ///
    /// - Throws: ``SigningError`` for values that cannot be sent.
    func appendHeaders(of request: PresignRequest, to output: inout OutputSpan<UInt8>) throws(SigningError) {
        for place in sources.indices {
            guard let source = sources[place] else {
                _ = section.appendLine(at: place, request.address.authority, to: &output)
                continue
            }
            guard section.appendLine(at: place, request.headers[source].value, to: &output) else {
                throw .invalidHeaderValue(name: request.headers[source].name)
            }
        }
        section.appendEnd(payload: nil, to: &output) { place in
            sources[place].map { request.headers[$0].value } ?? request.address.authority
        }
    }

    /// Refuses another host than the address has.
    func checkHost(of request: PresignRequest) throws(SigningError) {
        guard let hostSource, request.headers[hostSource].value != request.address.authority else { return }
        throw .reservedHeader(request.headers[hostSource].name)
    }

    /// Appends a number of seconds.
    private func appendSeconds(_ seconds: Int, to output: inout OutputSpan<UInt8>) {
        var divisor = 1
        while divisor * 10 <= seconds { divisor *= 10 }
        while divisor > 0 {
            output.append(UInt8(ascii: "0") + UInt8(truncatingIfNeeded: seconds / divisor % 10))
            divisor /= 10
        }
    }
}
