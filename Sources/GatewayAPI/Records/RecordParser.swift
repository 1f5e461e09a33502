import Bytes
import GatewayCore
import StrictJSON

/// Splits a body that arrives in pieces into records.
protocol RecordParser: Sendable {
    /// Takes the next piece; returns the records that end in it.
    ///
    /// - Throws: `itemsRefused` with the line that cannot be read.
    mutating func take(_ piece: [UInt8]) throws(GatewayError) -> [BodyRecord]

    /// Returns the records that are left at the end of the body.
    mutating func finish() throws(GatewayError) -> [BodyRecord]
}

/// One record of a body.
struct BodyRecord: Sendable {
    /// Longest record, in bytes.
    static let maxBytes = 65_536

    /// The line on which the record begins, counted from 1.
    let line: Int
    /// The record as an object.
    let value: JSONValue

    /// The error of a record that is too long.
    static func tooLong(_ line: Int) -> GatewayError {
        .line(line, .invalidArgument(field: "line", reason: "A record must not exceed 65,536 bytes."))
    }
}

/// Parses one JSON text per line; skips empty lines.
struct NDJSONParser: RecordParser {
    private var line = 0
    private var rest: [UInt8] = []

    mutating func take(_ piece: [UInt8]) throws(GatewayError) -> [BodyRecord] {
        var records: [BodyRecord] = []
        var start = 0
        while let end = piece[start...].firstIndex(of: UInt8(ascii: "\n")) {
            rest.append(contentsOf: piece[start..<end])
            start = end + 1
            if let record = try endLine() { records.append(record) }
        }
        rest.append(contentsOf: piece[start...])
        guard rest.count <= BodyRecord.maxBytes else { throw BodyRecord.tooLong(line + 1) }
        return records
    }

    mutating func finish() throws(GatewayError) -> [BodyRecord] {
        try endLine().map { [$0] } ?? []
    }

    private mutating func endLine() throws(GatewayError) -> BodyRecord? {
        line += 1
        defer { rest.removeAll(keepingCapacity: true) }
        guard rest.count <= BodyRecord.maxBytes else { throw BodyRecord.tooLong(line) }
        if line == 1, rest.starts(with: byteOrderMark) { rest.removeFirst(byteOrderMark.count) }
        guard !rest.allSatisfy({ $0 == 0x20 || $0 == 0x09 || $0 == 0x0d }) else { return nil }
        do throws(GatewayError) {
            return BodyRecord(line: line, value: try JSONText.body(rest).root.value)
        } catch .invalidArgument(_, let reason) {
            throw .line(line, .invalidArgument(field: "line", reason: reason))
        }
    }
}
