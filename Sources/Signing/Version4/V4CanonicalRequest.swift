import Bytes

/// The first stage of a "version 4" signature, for requests into whose query the signer writes nothing.
struct V4CanonicalRequest {
    /// Method, path, query, headers, an empty line, names of the headers, and hash of the body.
    let bytes: [UInt8]
    /// The percent-encoded, sorted query.
    let query: [UInt8]

    /// Writes the text of the stage.
    ///
    /// - Parameters:
    ///   - method: Method in upper case.
    ///   - path: The percent-encoded path.
    ///   - query: The query's parameters.
    ///   - headers: The headers.
    ///   - payload: What represents the body, regardless of the headers; `nil` to take it from them.
    init(
        method: String, path: [UInt8], query: CanonicalQuery, headers: BoundHeaders,
        payload: PayloadHash? = nil
    ) {
        let query = query.bytes
        var bytes: [UInt8] = []
        let capacity = method.utf8.count + path.count + query.count + headers.byteCount + 2
        bytes.append(addingCapacity: capacity) { output in
            output.append(copying: method)
            output.append(UInt8(ascii: "\n"))
            output.append(copying: path)
            output.append(UInt8(ascii: "\n"))
            output.append(copying: query)
            headers.append(payload: payload?.text, to: &output)
        }
        self.bytes = bytes
        self.query = query
    }
}
