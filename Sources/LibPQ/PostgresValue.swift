/// A Swift type that is sent to and read from PostgreSQL in binary.
///
/// These are `Bool`, `Int16`, `Int32`, `Int64`, `Double`, `String` (text; also reads varchar, char, name, json and
/// jsonb), `[UInt8]` (bytea), `UUID`, and `Date` and ``PostgresTimestamp`` (timestamptz). Optionals of these, arrays of
/// these and arrays of optionals of these are supported too. Cast other database types in the statement: `$1::jsonb`,
/// `address::text`.
public protocol PostgresValue: Sendable {
    /// PostgreSQL type of parameters of this Swift type.
    static var postgresType: PostgresType { get }
    /// Whether columns of a PostgreSQL type can be read as this Swift type.
    static func reads(_ type: PostgresType) -> Bool
    /// Adds the value as the next parameter.
    func encode(into parameters: inout PostgresParameters) throws(PostgresError)
    /// Reads a field; `payload` is empty if the field is NULL.
    static func decode(_ payload: Span<UInt8>, isNull: Bool, type: PostgresType) throws(PostgresValueError) -> Self
}

/// Why a field cannot be read as a Swift type, or a value cannot be sent.
public struct PostgresValueError: Error, Sendable, Equatable {
    /// The reason, without the value.
    public let reason: String

    init(_ reason: String) {
        self.reason = reason
    }
}

/// A type whose values can be the elements of an array.
public protocol PostgresElement: Sendable {
    /// PostgreSQL type of an array of this Swift type as a parameter.
    static var arrayType: PostgresType { get }
    /// Whether columns of a PostgreSQL type can be read as an array of this Swift type.
    static func readsArray(_ type: PostgresType) -> Bool
    /// Adds an array as the next parameter.
    static func encodeArray(_ elements: [Self], into parameters: inout PostgresParameters) throws(PostgresError)
    /// Reads an array.
    static func decodeArray(_ payload: Span<UInt8>, type: PostgresType) throws(PostgresValueError) -> [Self]
}

/// A value that is neither an array nor an optional.
///
/// The functions on arrays are requirements, not only extensions, so that each type has its own specialised loop.
public protocol PostgresScalar: PostgresValue, PostgresElement {
    /// Whether arrays with elements of a PostgreSQL type can be read.
    static func readsElement(_ type: PostgresType) -> Bool
    /// Returns the size of the binary form, in bytes.
    func byteCount() throws(PostgresValueError) -> Int
    /// Writes the binary form. `bytes` has exactly its size.
    func store(into bytes: UnsafeMutableRawBufferPointer)
    /// Reads the binary form; `nil` if it is malformed.
    static func read(_ payload: Span<UInt8>, type: PostgresType) -> Self?
    /// Adds an array with NULLs as the next parameter.
    static func encodeOptionals(_ elements: [Self?], into parameters: inout PostgresParameters) throws(PostgresError)
    /// Reads an array with NULLs.
    static func decodeOptionals(_ payload: Span<UInt8>) throws(PostgresValueError) -> [Self?]
}

extension PostgresScalar {
    /// Returns `true` for the type's own PostgreSQL type only. This is the default.
    public static func reads(_ type: PostgresType) -> Bool { type == postgresType }
    /// Returns `true` for the type's own PostgreSQL type only. This is the default.
    public static func readsElement(_ type: PostgresType) -> Bool { type == postgresType }
    /// Returns `true` for the type's own array type only. This is the default.
    public static func readsArray(_ type: PostgresType) -> Bool { type == arrayType }

    /// Adds the value as the next parameter.
    public func encode(into parameters: inout PostgresParameters) throws(PostgresError) {
        try parameters.append(Self.postgresType) { bytes throws(PostgresValueError) in
            unsafe store(into: bytes.add(try byteCount()))
        }
    }

    /// Reads a field that must not be NULL.
    public static func decode(
        _ payload: Span<UInt8>, isNull: Bool, type: PostgresType
    ) throws(PostgresValueError) -> Self {
        guard !isNull else { throw PostgresValueError("unexpected NULL") }
        guard let value = read(payload, type: type) else { throw PostgresValueError("malformed \(Self.self)") }
        return value
    }
}

extension Optional: PostgresValue where Wrapped: PostgresValue {
    /// PostgreSQL type of the wrapped value.
    public static var postgresType: PostgresType { Wrapped.postgresType }
    /// Whether columns of a type can be read as the wrapped value.
    public static func reads(_ type: PostgresType) -> Bool { Wrapped.reads(type) }

    /// Adds the value, or NULL, as the next parameter.
    public func encode(into parameters: inout PostgresParameters) throws(PostgresError) {
        switch self {
        case .none: parameters.appendNull(Wrapped.postgresType)
        case .some(let value): try value.encode(into: &parameters)
        }
    }

    /// Reads a field that may be NULL.
    public static func decode(
        _ payload: Span<UInt8>, isNull: Bool, type: PostgresType
    ) throws(PostgresValueError) -> Wrapped? {
        isNull ? nil : try Wrapped.decode(payload, isNull: false, type: type)
    }
}
