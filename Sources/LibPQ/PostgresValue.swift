/// A Swift type that is sent to and read from PostgreSQL in binary.
///
/// `Bool`, `Int16`, `Int32`, `Int64`, `Double`, `String` (text; reads varchar, char, name, json and jsonb too),
/// `[UInt8]` (bytea), `UUID`, `Date` and ``PostgresTimestamp`` (timestamptz); optionals of these, arrays of these and
/// arrays of optionals of these. Another type of the database is cast in the statement: `$1::jsonb`, `address::text`.
public protocol PostgresValue: Sendable {
    /// The type that parameters of this Swift type have.
    static var postgresType: PostgresType { get }
    /// Whether columns of a type can be read as this Swift type.
    static func reads(_ type: PostgresType) -> Bool
    /// Adds the value as the next parameter.
    func encode(into parameters: inout PostgresParameters) throws(PostgresError)
    /// Reads a field; `payload` is empty where the field is NULL.
    static func decode(_ payload: Span<UInt8>, isNull: Bool, type: PostgresType) throws(PostgresValueError) -> Self
}

/// Why a field cannot be read as a Swift type.
public struct PostgresValueError: Error, Sendable, Equatable {
    /// What is wrong, without the value.
    public let reason: String

    init(_ reason: String) {
        self.reason = reason
    }
}

/// What an array may hold.
public protocol PostgresElement: Sendable {
    /// The type that an array of this Swift type has as a parameter.
    static var arrayType: PostgresType { get }
    /// Whether columns of a type can be read as an array of this Swift type.
    static func readsArray(_ type: PostgresType) -> Bool
    /// Adds an array as the next parameter.
    static func encodeArray(_ elements: [Self], into parameters: inout PostgresParameters) throws(PostgresError)
    /// Reads an array.
    static func decodeArray(_ payload: Span<UInt8>, type: PostgresType) throws(PostgresValueError) -> [Self]
}

/// A value that is neither array nor optional.
///
/// The functions on arrays are requirements, not only extensions, so that each type has its own specialised loop.
public protocol PostgresScalar: PostgresValue, PostgresElement {
    /// Whether arrays of elements of a type can be read.
    static func readsElement(_ type: PostgresType) -> Bool
    /// How many bytes the binary form takes.
    func byteCount() throws(PostgresValueError) -> Int
    /// Writes the binary form into just as many bytes.
    func store(into bytes: UnsafeMutableRawBufferPointer)
    /// Reads the binary form; `nil` where it is malformed.
    static func read(_ payload: Span<UInt8>, type: PostgresType) -> Self?
    /// Adds an array with NULLs as the next parameter.
    static func encodeOptionals(_ elements: [Self?], into parameters: inout PostgresParameters) throws(PostgresError)
    /// Reads an array with NULLs.
    static func decodeOptionals(_ payload: Span<UInt8>) throws(PostgresValueError) -> [Self?]
}

extension PostgresScalar {
    /// By default its own type only.
    public static func reads(_ type: PostgresType) -> Bool { type == postgresType }
    /// By default its own type only.
    public static func readsElement(_ type: PostgresType) -> Bool { type == postgresType }
    /// By default its own array type only.
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
    /// The type of the wrapped value.
    public static var postgresType: PostgresType { Wrapped.postgresType }
    /// The types of the wrapped value.
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
