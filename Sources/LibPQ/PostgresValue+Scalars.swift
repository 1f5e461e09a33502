public import FoundationEssentials
import Glibc

extension Bool: PostgresScalar {
    /// The type boolean.
    public static var postgresType: PostgresType { .bool }
    /// The type boolean[].
    public static var arrayType: PostgresType { .boolArray }

    /// Returns 1.
    public func byteCount() -> Int { 1 }

    /// Writes 0 or 1 as one byte.
    public func store(into bytes: UnsafeMutableRawBufferPointer) {
        unsafe bytes[0] = self ? 1 : 0
    }

    /// Reads one byte; any value but 0 is `true`.
    public static func read(_ payload: Span<UInt8>, type: PostgresType) -> Bool? {
        payload.count == 1 ? payload[0] != 0 : nil
    }
}

extension Int16: PostgresScalar {
    /// The type smallint.
    public static var postgresType: PostgresType { .int2 }
    /// The type smallint[].
    public static var arrayType: PostgresType { .int2Array }

    /// Returns 2.
    public func byteCount() -> Int { 2 }

    /// Writes two bytes, big-endian.
    public func store(into bytes: UnsafeMutableRawBufferPointer) {
        unsafe bytes.storeBigEndian(self)
    }

    /// Reads two bytes, big-endian.
    public static func read(_ payload: Span<UInt8>, type: PostgresType) -> Int16? {
        payload.bigEndian()
    }
}

extension Int32: PostgresScalar {
    /// The type integer.
    public static var postgresType: PostgresType { .int4 }
    /// The type integer[].
    public static var arrayType: PostgresType { .int4Array }

    /// Returns 4.
    public func byteCount() -> Int { 4 }

    /// Writes four bytes, big-endian.
    public func store(into bytes: UnsafeMutableRawBufferPointer) {
        unsafe bytes.storeBigEndian(self)
    }

    /// Reads four bytes, big-endian.
    public static func read(_ payload: Span<UInt8>, type: PostgresType) -> Int32? {
        payload.bigEndian()
    }
}

extension Int64: PostgresScalar {
    /// The type bigint.
    public static var postgresType: PostgresType { .int8 }
    /// The type bigint[].
    public static var arrayType: PostgresType { .int8Array }

    /// Returns 8.
    public func byteCount() -> Int { 8 }

    /// Writes eight bytes, big-endian.
    public func store(into bytes: UnsafeMutableRawBufferPointer) {
        unsafe bytes.storeBigEndian(self)
    }

    /// Reads eight bytes, big-endian.
    public static func read(_ payload: Span<UInt8>, type: PostgresType) -> Int64? {
        payload.bigEndian()
    }
}

extension Double: PostgresScalar {
    /// The type double precision.
    public static var postgresType: PostgresType { .float8 }
    /// The type double precision[].
    public static var arrayType: PostgresType { .float8Array }

    /// Returns 8.
    public func byteCount() -> Int { 8 }

    /// Writes the eight bytes of IEEE 754, big-endian.
    public func store(into bytes: UnsafeMutableRawBufferPointer) {
        unsafe bytes.storeBigEndian(bitPattern)
    }

    /// Reads the eight bytes of IEEE 754, big-endian.
    public static func read(_ payload: Span<UInt8>, type: PostgresType) -> Double? {
        payload.bigEndian().map(Double.init(bitPattern:))
    }
}

extension String: PostgresScalar {
    /// The type text.
    public static var postgresType: PostgresType { .text }
    /// The type text[].
    public static var arrayType: PostgresType { .textArray }
    /// Returns `true` for all types whose binary form is their text, and for jsonb.
    public static func reads(_ type: PostgresType) -> Bool { readsElement(type) }
    /// Returns `true` for all types whose binary form is their text, and for jsonb.
    public static func readsElement(_ type: PostgresType) -> Bool {
        switch type {
        case .text, .varchar, .bpchar, .name, .unknown, .json, .jsonb: true
        default: false
        }
    }
    /// Returns `true` for text[], varchar[] and jsonb[].
    public static func readsArray(_ type: PostgresType) -> Bool {
        type == .textArray || type == .varcharArray || type == .jsonbArray
    }

    /// Returns the size in UTF-8. Throws if the text contains NUL, which PostgreSQL's text cannot hold.
    public func byteCount() throws(PostgresValueError) -> Int {
        let hasNUL = unsafe withContiguousBytes { bytes in
            unsafe bytes.baseAddress.map { unsafe memchr($0, 0, bytes.count) != nil } ?? false
        }
        guard !hasNUL else { throw PostgresValueError("text with a NUL character") }
        return utf8.count
    }

    /// Writes UTF-8.
    public func store(into bytes: UnsafeMutableRawBufferPointer) {
        unsafe withContiguousBytes { unsafe bytes.copyBytes(from: $0) }
    }

    /// Reads UTF-8. The binary form of jsonb has a version byte, 1, before the text.
    public static func read(_ payload: Span<UInt8>, type: PostgresType) -> String? {
        guard type == .jsonb else { return payload.utf8String() }
        guard payload.count > 0, payload[0] == 1 else { return nil }
        return payload.extracting(1..<payload.count).utf8String()
    }
}

extension Array: PostgresScalar where Element == UInt8 {
    /// The type bytea[].
    public static var arrayType: PostgresType { .byteaArray }
    /// Returns `true` for bytea only.
    public static func readsElement(_ type: PostgresType) -> Bool { type == .bytea }
    /// Returns `true` for bytea[] only.
    public static func readsArray(_ type: PostgresType) -> Bool { type == .byteaArray }

    /// Returns the number of bytes.
    public func byteCount() -> Int { count }

    /// Writes the bytes.
    public func store(into bytes: UnsafeMutableRawBufferPointer) {
        unsafe bytes.copyBytes(from: self)
    }

    /// Copies the bytes.
    public static func read(_ payload: Span<UInt8>, type: PostgresType) -> [UInt8]? {
        payload.copied()
    }
}

extension Array: PostgresElement where Element == UInt8 {}

extension UUID: PostgresScalar {
    /// The type uuid.
    public static var postgresType: PostgresType { .uuid }
    /// The type uuid[].
    public static var arrayType: PostgresType { .uuidArray }

    /// Returns 16.
    public func byteCount() -> Int { 16 }

    /// Writes sixteen bytes.
    public func store(into bytes: UnsafeMutableRawBufferPointer) {
        unsafe bytes.storeBytes(of: uuid, as: uuid_t.self)
    }

    /// Reads sixteen bytes.
    public static func read(_ payload: Span<UInt8>, type: PostgresType) -> UUID? {
        guard payload.count == 16, let high: UInt64 = payload.extracting(0..<8).bigEndian(),
            let low: UInt64 = payload.extracting(8..<16).bigEndian()
        else { return nil }
        return UUID(uuid: unsafe unsafeBitCast((high.bigEndian, low.bigEndian), to: uuid_t.self))
    }
}
