import HTTPServing

/// Reads `multipart/form-data` piece by piece (RFC 7578).
struct FormReader {
    /// The head of a part.
    struct Part: Sendable, Equatable {
        let name: String
        let fileName: String?
        let contentType: String?
    }

    private var source: RequestBodyStream.AsyncIterator
    private let delimiter: [UInt8]
    // Before the first boundary there is no line break.
    private var buffer: [UInt8] = Array("\r\n".utf8)
    private var isAtPartEnd = false

    private static let maxHeadBytes = 8192

    /// Begins before the first part.
    ///
    /// - Throws: ``StoreError`` unless the content type names a boundary.
    init(_ body: RequestBody, contentType: String) throws(StoreError) {
        let parameters = contentType.split(separator: ";").dropFirst().map { $0.drop { $0 == " " } }
        guard contentType.lowercased().hasPrefix("multipart/form-data"),
            let parameter = parameters.first(where: { $0.lowercased().hasPrefix("boundary=") })
        else { throw .malformedPost }
        let boundary = parameter.dropFirst("boundary=".count).filter { $0 != "\"" }
        guard 1...70 ~= boundary.utf8.count else { throw .malformedPost }
        source = body.chunks.makeAsyncIterator()
        delimiter = Array("\r\n--\(boundary)".utf8)
    }

    /// Returns the head of the next part; `nil` after the last one. What is left of the current part is skipped.
    mutating func nextPart() async throws -> Part? {
        while try await read() != nil {}
        while buffer.count < 2 { try await fill() }
        if buffer.starts(with: "--".utf8) { return nil }
        guard buffer.starts(with: "\r\n".utf8) else { throw StoreError.malformedPost }
        let end = Array("\r\n\r\n".utf8)
        while true {
            if let place = Self.find(end, in: buffer[...]) {
                let head = String(decoding: buffer[..<place], as: UTF8.self)
                buffer.removeFirst(place + end.count)
                isAtPartEnd = false
                return try Self.part(head)
            }
            guard buffer.count <= Self.maxHeadBytes else { throw StoreError.malformedPost }
            try await fill()
        }
    }

    /// Returns the next bytes of the current part; `nil` at its end.
    mutating func read() async throws -> [UInt8]? {
        guard !isAtPartEnd else { return nil }
        while true {
            if let place = Self.find(delimiter, in: buffer[...]) {
                let bytes = Array(buffer[..<place])
                buffer.removeFirst(place + delimiter.count)
                isAtPartEnd = true
                return bytes.isEmpty ? nil : bytes
            }
            let sure = buffer.count - delimiter.count
            if sure > 0 {
                let bytes = Array(buffer[..<sure])
                buffer.removeFirst(sure)
                return bytes
            }
            try await fill()
        }
    }

    private mutating func fill() async throws {
        guard let bytes = try await source.next() else { throw StoreError.malformedPost }
        buffer += bytes
    }

    private static func find(_ wanted: [UInt8], in bytes: ArraySlice<UInt8>) -> Int? {
        guard let first = wanted.first else { return nil }
        var place = bytes.startIndex
        while let found = bytes[place...].firstIndex(of: first), found + wanted.count <= bytes.endIndex {
            if bytes[found..<(found + wanted.count)].elementsEqual(wanted) { return found }
            place = found + 1
        }
        return nil
    }

    private static func part(_ head: String) throws(StoreError) -> Part {
        var values: [String: String] = [:]
        for line in head.replacing("\r\n", with: "\n").split(separator: "\n") {
            let sides = line.split(separator: ":", maxSplits: 1).map { String($0.drop { $0 == " " }) }
            guard sides.count == 2 else { throw .malformedPost }
            values[sides[0].lowercased()] = sides[1]
        }
        let disposition = values["content-disposition"] ?? ""
        guard disposition.lowercased().hasPrefix("form-data"), let name = Self.parameter("name", of: disposition) else {
            throw .malformedPost
        }
        return Part(
            name: name, fileName: Self.parameter("filename", of: disposition), contentType: values["content-type"])
    }

    /// Reads a quoted parameter.
    private static func parameter(_ name: String, of header: String) -> String? {
        guard let start = header.firstRange(of: "; \(name)=\"") ?? header.firstRange(of: ";\(name)=\"") else {
            return nil
        }
        let rest = header[start.upperBound...]
        guard let end = rest.firstIndex(of: "\"") else { return nil }
        return String(rest[..<end]).replacing("%22", with: "\"")
    }
}
