import Bytes
import GatewayCore
import StrictJSON

/// Parses comma-separated values (RFC 4180) in UTF-8. Lines end in CR LF or LF; a quoted field may hold any character.
///
/// The first record names the columns. ``Columns`` gives them their meaning.
struct CSVParser<Columns: CSVColumns>: RecordParser {
    private enum State {
        case fieldStart
        case bare
        case quoted
        /// After a quote that either ends the field or is the first of two.
        case quote
        /// After a CR that must be followed by LF.
        case carriageReturn
    }

    private var state = State.fieldStart
    private var line = 1
    private var firstLine = 1
    private var size = 0
    private var field: [UInt8] = []
    private var fields: [String] = []
    /// Bytes of the byte order mark read so far; `nil` after the mark.
    private var markSize: Int? = 0
    private var columns: Columns?

    mutating func take(_ piece: [UInt8]) throws(GatewayError) -> [BodyRecord] {
        var records: [BodyRecord] = []
        for byte in piece {
            guard !takeMark(byte) else { continue }
            size += 1
            guard size <= BodyRecord.maxBytes else { throw BodyRecord.tooLong(firstLine) }
            if try step(byte), let record = try endRecord() { records.append(record) }
            if byte == UInt8(ascii: "\n") {
                line += 1
                if size == 0 { firstLine = line }
            }
        }
        return records
    }

    mutating func finish() throws(GatewayError) -> [BodyRecord] {
        guard state != .quoted else { throw flaw("The body ends inside a quoted field.") }
        guard state != .carriageReturn else { throw flaw("A CR is not followed by an LF.") }
        guard size > 0 || columns != nil else { throw flaw("The header with the names of the columns is missing.") }
        guard size > 0 else { return [] }
        try endField()
        return try endRecord().map { [$0] } ?? []
    }

    /// Skips the byte order mark that some editors put before UTF-8.
    private mutating func takeMark(_ byte: UInt8) -> Bool {
        guard let seen = markSize else { return false }
        guard byte == byteOrderMark[seen] else {
            field = Array(byteOrderMark[..<seen])
            markSize = nil
            return false
        }
        markSize = seen + 1 < byteOrderMark.count ? seen + 1 : nil
        return true
    }

    /// Takes a byte; returns `true` where it ends a record.
    private mutating func step(_ byte: UInt8) throws(GatewayError) -> Bool {
        switch (state, byte) {
        case (.quoted, UInt8(ascii: "\"")):
            state = .quote
        case (.quoted, _):
            field.append(byte)
        case (.quote, UInt8(ascii: "\"")):
            field.append(byte)
            state = .quoted
        case (.carriageReturn, let byte) where byte != UInt8(ascii: "\n"):
            throw flaw("A CR is not followed by an LF.")
        case (_, UInt8(ascii: "\n")):
            try endField()
            return true
        case (_, UInt8(ascii: "\r")):
            state = .carriageReturn
        case (_, UInt8(ascii: ",")):
            try endField()
        case (.fieldStart, UInt8(ascii: "\"")):
            state = .quoted
        case (.quote, _):
            throw flaw("A character follows the closing quote of a field.")
        case (_, UInt8(ascii: "\"")):
            throw flaw("An unquoted field contains a quote.")
        default:
            field.append(byte)
            state = .bare
        }
        return false
    }

    private mutating func endField() throws(GatewayError) {
        state = .fieldStart
        // No value of a grant contains a CR. Editors end lines within a field with CR LF.
        if field.contains(UInt8(ascii: "\r")) { field.replace("\r\n".utf8, with: "\n".utf8) }
        guard let text = String(validating: field, as: UTF8.self) else { throw flaw("The record is not UTF-8.") }
        fields.append(text)
        field.removeAll(keepingCapacity: true)
    }

    private mutating func endRecord() throws(GatewayError) -> BodyRecord? {
        defer {
            fields.removeAll(keepingCapacity: true)
            size = 0
        }
        // The line is empty.
        guard fields != [""] else { return nil }
        do throws(GatewayError) {
            guard let columns else {
                columns = try Columns(header: fields)
                return nil
            }
            guard fields.count == columns.count else {
                throw .invalidArgument(
                    field: "line", reason: "The record has \(fields.count) fields, but the header has \(columns.count)."
                )
            }
            return BodyRecord(line: firstLine, value: try columns.value(of: fields))
        } catch {
            throw .line(firstLine, error)
        }
    }

    private func flaw(_ reason: String) -> GatewayError {
        .line(firstLine, .invalidArgument(field: "line", reason: reason))
    }
}

/// The meaning of a table's columns.
protocol CSVColumns: Sendable {
    /// Reads the header.
    init(header: [String]) throws(GatewayError)
    /// The number of columns.
    var count: Int { get }
    /// Makes an object from the fields of a record.
    func value(of fields: [String]) throws(GatewayError) -> JSONValue
}
