import LibCrypto

/// The texts of a ``V4Template``, one behind the other in one array, and where each of them ends.
struct V4TemplateText: Sendable {
    private var bytes: [UInt8]
    /// Where method and path begin that are signed, and where origin and path do that are sent in their place: both end where the
    /// key begins.
    let signedStart: Int
    let sentStart: Int
    private let signedFrontEnd: Int
    private let sentFrontEnd: Int
    /// Where in the query the time of day stands, and where the life is missing.
    private var timePlace = 0
    private var lifePlace = 0
    private var queryEnd = 0
    /// What stands before each value of a header that a request gives, and behind the last.
    private var lines: [Line] = []
    private var headersEnd = 0
    /// The string to sign, in it the time of day; the hash is missing.
    private var timeToSignPlace = 0
    private var stringToSignEnd = 0

    /// What stands before the value of a header: the name, mostly, and the header's place in the request.
    private struct Line: Sendable {
        let text: Range<Int>
        let source: Int
    }

    /// Begins with what stands in front of the key.
    init(_ request: borrowing PresignRequest, dialect: V4Dialect) {
        let signed = Array("\(request.method)\n".utf8) + dialect.signedFront(of: request.address)
        let sent = request.address.front.sent
        signedStart = max(0, sent.count - signed.count)
        sentStart = max(0, signed.count - sent.count)
        bytes = [UInt8](repeating: 0, count: signedStart) + signed
        signedFrontEnd = bytes.count
        bytes += sent
        sentFrontEnd = bytes.count
    }

    /// Adds the signer's own parameters but the signature, and the others, each in its place.
    mutating func addQuery(_ others: CanonicalQuery, key: SigningKeyV4, names: String) {
        var separator = UInt8(ascii: "\n")
        func add(_ parameter: [UInt8]) {
            bytes.append(separator)
            bytes += parameter
            separator = UInt8(ascii: "&")
        }
        var place = 0
        for parameter in key.parameters {
            while place < others.count, others.name(at: place, precedes: parameter.name) {
                add(others[place])
                place += 1
            }
            if case .headerNames = parameter.rest, names.isEmpty { continue }
            add(parameter.text)
            switch parameter.rest {
            case .nothing: break
            case .time: timePlace = addTime()
            case .life: lifePlace = bytes.count
            case .headerNames: PercentEncoding.append(names, keeping: PercentEncoding.unreserved, to: &bytes)
            }
        }
        while place < others.count {
            add(others[place])
            place += 1
        }
        queryEnd = bytes.count
    }

    /// Adds the line of a header with its value.
    mutating func addHeader(_ name: String, value: String) {
        bytes += "\n\(name):\(value)".utf8
    }

    /// Adds the line of a header whose value stands at a place of the request.
    mutating func addHeader(_ name: String, source: Int) {
        bytes += "\n\(name):".utf8
        lines.append(Line(text: endOfLines..<bytes.count, source: source))
    }

    private var endOfLines: Int { lines.last?.text.upperBound ?? queryEnd }

    /// Adds the end of the canonical request, the string to sign but time and hash, and what stands before the signature.
    mutating func addEnds(names: String, payload: String, key: SigningKeyV4) {
        bytes += "\n\n\(names)\n\(payload)".utf8
        headersEnd = bytes.count
        bytes += key.stringToSignStart
        timeToSignPlace = addTime()
        bytes += key.stringToSignEnd
        stringToSignEnd = bytes.count
        bytes += key.signatureParameter
    }

    /// Adds room for the time of day, and gives its place.
    private mutating func addTime() -> Int {
        bytes += [UInt8](repeating: 0, count: SigningInstant.timeByteCount)
        return bytes.count - SigningInstant.timeByteCount
    }

    /// Writes the time of day where it belongs.
    mutating func setTime(_ instant: SigningInstant) {
        let time = instant.time
        for place in time.indices {
            bytes[timePlace + place] = time[place]
            bytes[timeToSignPlace + place] = time[place]
        }
    }
}

extension V4TemplateText {
    /// Room that a canonical request takes up to the end of its query, key apart.
    var upToQueryByteCount: Int {
        signedFrontEnd + queryEnd - sentFrontEnd + Self.lifeByteCount
    }
    /// Room that it takes behind that, values apart.
    var headersByteCount: Int { headersEnd - queryEnd }
    /// The string to sign but the hash at its end.
    var stringToSign: [UInt8] { Array(bytes[headersEnd..<stringToSignEnd]) }
    /// Room that takes what stands before the signature.
    var signatureParameterByteCount: Int { bytes.count - stringToSignEnd }

    private static let lifeByteCount = 6

    /// Appends what stands in front of the key, as it is signed.
    func appendSignedFront(to output: inout OutputSpan<UInt8>) {
        output.append(copying: bytes.span.extracting(0..<signedFrontEnd))
    }

    /// Writes what stands in front of the key, as it is sent, over what is signed.
    func overwriteFront(of output: inout OutputSpan<UInt8>) {
        output.overwrite(from: sentStart, with: bytes.span.extracting(signedFrontEnd..<sentFrontEnd))
    }

    /// Appends a line feed and the query.
    func appendQuery(expiresInSeconds life: Int, to output: inout OutputSpan<UInt8>) {
        output.append(copying: bytes.span.extracting(sentFrontEnd..<lifePlace))
        output.append(decimal: Int64(life))
        output.append(copying: bytes.span.extracting(lifePlace..<queryEnd))
    }

    /// Room that the values of headers take.
    func valueByteCount(in headers: Span<NamedValue>) -> Int {
        var count = 0
        for line in lines { count += headers[line.source].value.utf8.count }
        return count
    }

    /// Appends the canonical request behind its query, but for what stands at its end for the body.
    ///
    /// - Returns: The place of a header whose value cannot be sent.
    func appendHeaders(
        _ headers: Span<NamedValue>, collapsing: Bool, to output: inout OutputSpan<UInt8>
    ) -> Int? {
        for line in lines {
            output.append(copying: bytes.span.extracting(line.text))
            guard HeaderValue.append(headers[line.source].value, collapsing: collapsing, to: &output) else {
                return line.source
            }
        }
        output.append(copying: bytes.span.extracting(endOfLines..<headersEnd))
        return nil
    }

    /// Appends what stands before the signature.
    func appendSignatureParameter(to output: inout OutputSpan<UInt8>) {
        output.append(copying: bytes.span.extracting(stringToSignEnd..<bytes.count))
    }
}
