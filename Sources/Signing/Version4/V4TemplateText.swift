import Bytes

/// The texts of a ``V4Template`` in one array, and where each of them ends.
struct V4TemplateText: Sendable {
    private var bytes: [UInt8]
    /// Where the signed method and path begin, and where the origin and path that replace them in the URL begin. Both
    /// end where the key begins.
    let signedStart: Int
    let sentStart: Int
    private let signedFrontEnd: Int
    private let sentFrontEnd: Int
    /// Offset of the time of day in the query, and of the life, which is inserted later.
    private var timePlace = 0
    private var lifePlace = 0
    private var queryEnd = 0
    /// The text before each header value that requests supply, and after the last one.
    private var lines: [Line] = []
    private var headersEnd = 0
    /// Offset of the time of day in the string to sign, and the end of that string, where the hash follows.
    private var timeToSignPlace = 0
    private var stringToSignEnd = 0

    /// The text before the value of a header, and the header's index in the request.
    private struct Line: Sendable {
        let text: Range<Int>
        let source: Int
    }

    /// Starts with the text before the key.
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

    /// Adds the signer's parameters, except the signature, and the others, in sorted order.
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
            case .headerNames: PercentEncoding.append(names, keeping: .unreserved, to: &bytes)
            }
        }
        while place < others.count {
            add(others[place])
            place += 1
        }
        queryEnd = bytes.count
    }

    /// Adds the line of a header whose value is constant.
    mutating func addHeader(_ name: String, value: String) {
        bytes += "\n\(name):\(value)".utf8
    }

    /// Adds the line of a header whose value each request supplies.
    mutating func addHeader(_ name: String, source: Int) {
        bytes += "\n\(name):".utf8
        lines.append(Line(text: endOfLines..<bytes.count, source: source))
    }

    private var endOfLines: Int { lines.last?.text.upperBound ?? queryEnd }

    /// Adds the end of the canonical request, the string to sign without time and hash, and the text before the
    /// signature.
    mutating func addEnds(names: String, payload: String, key: SigningKeyV4) {
        bytes += "\n\n\(names)\n\(payload)".utf8
        headersEnd = bytes.count
        bytes += key.stringToSignStart
        timeToSignPlace = addTime()
        bytes += key.stringToSignEnd
        stringToSignEnd = bytes.count
        bytes += key.signatureParameter
    }

    /// Adds room for the time of day, and returns its offset.
    private mutating func addTime() -> Int {
        bytes += [UInt8](repeating: 0, count: SigningInstant.timeByteCount)
        return bytes.count - SigningInstant.timeByteCount
    }

    /// Fills in the time of day.
    mutating func setTime(_ instant: SigningInstant) {
        let time = instant.time
        for place in time.indices {
            bytes[timePlace + place] = time[place]
            bytes[timeToSignPlace + place] = time[place]
        }
    }
}

extension V4TemplateText {
    /// Bytes of a canonical request up to the end of its query, without the key.
    var upToQueryByteCount: Int {
        signedFrontEnd + queryEnd - sentFrontEnd + Self.lifeByteCount
    }
    /// Bytes of a canonical request after its query, without the values.
    var headersByteCount: Int { headersEnd - queryEnd }
    /// The string to sign without the hash at its end.
    var stringToSign: [UInt8] { Array(bytes[headersEnd..<stringToSignEnd]) }
    /// Bytes of the text before the signature.
    var signatureParameterByteCount: Int { bytes.count - stringToSignEnd }

    private static let lifeByteCount = 6

    /// Appends the text before the key, as it is signed.
    func appendSignedFront(to output: inout OutputSpan<UInt8>) {
        output.append(copying: bytes.span.extracting(0..<signedFrontEnd))
    }

    /// Replaces the signed text before the key by the text that is sent.
    func overwriteFront(of output: inout OutputSpan<UInt8>) {
        output.overwrite(from: sentStart, with: bytes.span.extracting(signedFrontEnd..<sentFrontEnd))
    }

    /// Appends a line feed and the query.
    func appendQuery(expiresInSeconds life: Int, to output: inout OutputSpan<UInt8>) {
        output.append(copying: bytes.span.extracting(sentFrontEnd..<lifePlace))
        output.append(decimal: Int64(life))
        output.append(copying: bytes.span.extracting(lifePlace..<queryEnd))
    }

    /// Bytes of the values of headers.
    func valueByteCount(in headers: Span<NamedValue>) -> Int {
        var count = 0
        for line in lines { count += headers[line.source].value.utf8.count }
        return count
    }

    /// Appends the part of the canonical request after its query, without what represents the body.
    ///
    /// - Returns: The index of a header whose value cannot be sent, if there is one.
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

    /// Appends the text before the signature.
    func appendSignatureParameter(to output: inout OutputSpan<UInt8>) {
        output.append(copying: bytes.span.extracting(stringToSignEnd..<bytes.count))
    }
}
