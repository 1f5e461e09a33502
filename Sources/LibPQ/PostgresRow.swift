import CLibPQ

/// Owns one `PGresult`.
@safe
struct PostgresResult: ~Copyable {
    private let pointer: OpaquePointer

    init(owning pointer: OpaquePointer) { unsafe self.pointer = pointer }
    deinit { unsafe PQclear(pointer) }

    var status: ExecStatusType { unsafe PQresultStatus(pointer) }
    var rowCount: Int { unsafe Int(PQntuples(pointer)) }

    /// Number of rows that the command affected; 0 for commands that report none.
    var affectedRows: Int { unsafe PQcmdTuples(pointer).flatMap { unsafe Int(String(cString: $0)) } ?? 0 }

    /// The server's error; `nil` if the result is not an error.
    var error: PostgresError.ServerError? {
        switch status {
        case PGRES_FATAL_ERROR, PGRES_BAD_RESPONSE, PGRES_NONFATAL_ERROR:
            unsafe PostgresError.ServerError(reading: pointer)
        default: nil
        }
    }

    /// Decodes each row with a function.
    func decodeRows<Row>(
        _ decode: (inout PostgresRow) throws(PostgresError) -> Row
    ) throws(PostgresError) -> [Row] {
        var rows: [Row] = []
        let count = rowCount
        rows.reserveCapacity(count)
        for index in 0..<count {
            var row = unsafe PostgresRow(result: pointer, index: Int32(index))
            rows.append(try decode(&row))
        }
        return rows
    }
}

/// A row of a result, valid only while it is being decoded. Columns are read in order or by position.
@safe
public struct PostgresRow: ~Copyable {
    /// The result that owns the row. It outlives every row, because a row is only lent to its decoder.
    private let result: OpaquePointer
    private let index: Int32
    /// Position of the column that ``next(as:)`` reads, from 0.
    public private(set) var place = 0

    fileprivate init(result: OpaquePointer, index: Int32) {
        unsafe self.result = result
        self.index = index
    }

    /// Reads a column.
    ///
    /// - Parameters:
    ///   - column: Position of the column, from 0.
    ///   - type: The Swift type to read it as.
    /// - Throws: ``PostgresError/decoding(column:reason:)`` if there is no such column, its type cannot be read as the
    ///   Swift type, or it is NULL and the Swift type is not optional.
    public func decode<Value: PostgresValue>(
        _ column: Int, as type: Value.Type = Value.self
    ) throws(PostgresError) -> Value {
        guard column >= 0, column < Int(unsafe PQnfields(result)) else {
            throw .decoding(column: column, reason: "no such column")
        }
        let field = Int32(column)
        let columnType = PostgresType(oid: unsafe PQftype(result, field))
        guard Value.reads(columnType) else {
            throw .decoding(column: column, reason: "type \(columnType.oid) is not \(Value.self)")
        }
        let isNull = unsafe PQgetisnull(result, index, field) != 0
        let bytes = unsafe UnsafeRawBufferPointer(
            start: PQgetvalue(result, index, field), count: Int(PQgetlength(result, index, field)))
        let payload = unsafe Span<UInt8>(_unsafeBytes: bytes)
        do {
            return try Value.decode(payload, isNull: isNull, type: columnType)
        } catch {
            throw .decoding(column: column, reason: error.reason)
        }
    }

    /// Reads the next column.
    ///
    /// - Throws: The errors of ``decode(_:as:)``.
    public mutating func next<Value: PostgresValue>(
        as type: Value.Type = Value.self
    ) throws(PostgresError) -> Value {
        defer { place += 1 }
        return try decode(place, as: type)
    }

    /// Skips a number of columns.
    public mutating func skip(_ count: Int) {
        place += count
    }

    /// Whether the next column is NULL; `false` if there is no next column.
    public var isNextNull: Bool {
        guard place < Int(unsafe PQnfields(result)) else { return false }
        return unsafe PQgetisnull(result, index, Int32(place)) != 0
    }
}
