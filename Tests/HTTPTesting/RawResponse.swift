/// An answer, exactly as it arrived.
public struct RawResponse: Sendable {
    /// The status, for example 200.
    public let status: Int
    /// Name and value of every header field, in order.
    public let headers: [(name: String, value: String)]
    /// The body, without chunk framing.
    public let body: [UInt8]

    /// Value of the first header field with this name, whatever its case.
    public subscript(name: String) -> String? {
        headers.first { $0.name.lowercased() == name.lowercased() }?.value
    }

    /// The body as text.
    public var text: String { String(decoding: body, as: UTF8.self) }
}

extension RawConnection {
    /// Reads one final answer; skips interim ones (1xx). An answer to HEAD has no body.
    public mutating func response(toHead: Bool = false) throws(RawHTTPError) -> RawResponse {
        while true {
            let line = try line()
            let parts = line.split(separator: " ", maxSplits: 2)
            guard parts.count >= 2, parts[0].hasPrefix("HTTP/1."), let status = Int(parts[1]) else {
                throw .malformed(line)
            }
            let headers = try fields()
            if (100..<200).contains(status) { continue }
            let bodiless = toHead || status == 204 || status == 304
            return RawResponse(status: status, headers: headers, body: bodiless ? [] : try body(after: headers))
        }
    }

    private mutating func fields() throws(RawHTTPError) -> [(name: String, value: String)] {
        var fields: [(name: String, value: String)] = []
        while true {
            let line = try line()
            if line.isEmpty { return fields }
            guard let colon = line.firstIndex(of: ":") else { throw .malformed(line) }
            let value = line[colon...].dropFirst()
            let start = value.firstIndex { $0 != " " && $0 != "\t" } ?? value.endIndex
            fields.append((String(line[..<colon]), String(value[start...])))
        }
    }

    private mutating func body(after headers: [(name: String, value: String)]) throws(RawHTTPError) -> [UInt8] {
        func value(_ name: String) -> String? { headers.first { $0.name.lowercased() == name }?.value }
        if value("transfer-encoding")?.lowercased() == "chunked" { return try chunks() }
        guard let length = value("content-length") else { return try rest() }
        guard let count = Int(length), count >= 0 else { throw .malformed("Content-Length: \(length)") }
        return try bytes(count)
    }

    private mutating func chunks() throws(RawHTTPError) -> [UInt8] {
        var body: [UInt8] = []
        while true {
            let line = try line()
            guard let count = Int(line.prefix { $0 != ";" }, radix: 16), count >= 0 else { throw .malformed(line) }
            if count == 0 {
                _ = try fields()
                return body
            }
            body += try bytes(count)
            guard try self.line().isEmpty else { throw .malformed("chunk") }
        }
    }
}
