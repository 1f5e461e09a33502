/// The first stage of a "version 4" signature: the request as one text.
struct V4CanonicalRequest {
    /// The text: method, path, query, headers, an empty line, names of the headers, hash of the body.
    private(set) var bytes: [UInt8] = []
    private let pathRange: Range<Int>
    private let queryRange: Range<Int>

    /// Writes the text once, from front to back. A given hash of the body stands for it whatever the headers say.
    init(
        method: String,
        appendPath: (inout [UInt8]) -> Void,
        appendQuery: (inout [UInt8]) -> Void,
        headers: CanonicalHeaders,
        payload: PayloadHash? = nil
    ) {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(1024)
        let newline = UInt8(ascii: "\n")
        bytes += method.utf8
        bytes.append(newline)
        let pathStart = bytes.count
        appendPath(&bytes)
        pathRange = pathStart..<bytes.count
        bytes.append(newline)
        let queryStart = bytes.count
        appendQuery(&bytes)
        queryRange = queryStart..<bytes.count
        bytes.append(newline)
        bytes += headers.lines
        bytes.append(newline)
        bytes += headers.names
        bytes.append(newline)
        if let payload {
            bytes += payload.text.utf8
        } else {
            headers.appendPayload(to: &bytes)
        }
        self.bytes = bytes
    }

    /// The percent-encoded path.
    var path: ArraySlice<UInt8> { bytes[pathRange] }

    /// The percent-encoded, sorted query.
    var query: ArraySlice<UInt8> { bytes[queryRange] }
}
