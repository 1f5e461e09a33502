public import FoundationEssentials
import Glibc

extension Bool: PostgresScalar {
    /// boolean.
    public static var postgresType: PostgresType { .bool }
    /// boolean[].
    public static var arrayType: PostgresType { .boolArray }

    /// One byte.
    public func byteCount() -> Int { 1 }

    /// Writes 0 or 1.
    public func store(into bytes: UnsafeMutableRawBufferPointer) {
        unsafe bytes[0] = self ? 1 : 0
    }

    /// Reads one byte.
    public static func read(_ payload: Span<UInt8>, type: PostgresType) -> Bool? {
        payload.count == 1 ? payload[0] != 0 : nil
    }
}

extension Int16: PostgresScalar {
    /// smallint.
    public static var postgresType: PostgresType { .int2 }
    /// smallint[].
    public static var arrayType: PostgresType { .int2Array }

    /// Two bytes.
    public func byteCount() -> Int { 2 }

    /// Writes two bytes.
    public func store(into bytes: UnsafeMutableRawBufferPointer) {
        unsafe bytes.storeBigEndian(self)
    }

    /// Reads two bytes.
    public static func read(_ payload: Span<UInt8>, type: PostgresType) -> Int16? {
        payload.bigEndian()
    }
}

extension Int32: PostgresScalar {
    /// integer.
    public static var postgresType: PostgresType { .int4 }
    /// integer[].
    public static var arrayType: PostgresType { .int4Array }

    /// Four bytes.
    public func byteCount() -> Int { 4 }

    /// Writes four bytes.
    public func store(into bytes: UnsafeMutableRawBufferPointer) {
        unsafe bytes.storeBigEndian(self)
    }

    /// Reads four bytes.
    public static func read(_ payload: Span<UInt8>, type: PostgresType) -> Int32? {
        payload.bigEndian()
    }
}

extension Int64: PostgresScalar {
    /// bigint.
    public static var postgresType: PostgresType { .int8 }
    /// bigint[].
    public static var arrayType: PostgresType { .int8Array }

    /// Eight bytes.
    public func byteCount() -> Int { 8 }

    /// Writes eight bytes.
    public func store(into bytes: UnsafeMutableRawBufferPointer) {
        unsafe bytes.storeBigEndian(self)
    }

    /// Reads eight bytes.
    public static func read(_ payload: Span<UInt8>, type: PostgresType) -> Int64? {
        payload.bigEndian()
    }
}

extension Double: PostgresScalar {
    /// double precision.
    public static var postgresType: PostgresType { .float8 }
    /// double precision[].
    public static var arrayType: PostgresType { .float8Array }

    /// Eight bytes.
    public func byteCount() -> Int { 8 }

    /// Writes the eight bytes of IEEE 754.
    public func store(into bytes: UnsafeMutableRawBufferPointer) {
        unsafe bytes.storeBigEndian(bitPattern)
    }

    /// Reads the eight bytes of IEEE 754.
    public static func read(_ payload: Span<UInt8>, type: PostgresType) -> Double? {
        payload.bigEndian().map(Double.init(bitPattern:))
    }
}

extension String: PostgresScalar {
    /// text.
    public static var postgresType: PostgresType { .text }
    /// text[].
    public static var arrayType: PostgresType { .textArray }
    /// Everything whose binary form is its text, and jsonb.
    public static func reads(_ type: PostgresType) -> Bool { readsElement(type) }
    /// Everything whose binary form is its text, and jsonb.
    public static func readsElement(_ type: PostgresType) -> Bool {
        switch type {
        case .text, .varchar, .bpchar, .name, .unknown, .json, .jsonb: true
        default: false
        }
    }
    /// text[], varchar[] and jsonb[].
    public static func readsArray(_ type: PostgresType) -> Bool {
        type == .textArray || type == .varcharArray || type == .jsonbArray
    }

    /// As many as in UTF-8; PostgreSQL's text holds no NUL.
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

    /// Reads UTF-8; the binary form of jsonb has a version byte, 1, before the text.
    public static func read(_ payload: Span<UInt8>, type: PostgresType) -> String? {
        guard type == .jsonb else { return payload.utf8String() }
        guard payload.count > 0, payload[0] == 1 else { return nil }
        return payload.extracting(1..<payload.count).utf8String()
    }
}

extension Array: PostgresScalar where Element == UInt8 {
    /// bytea[].
    public static var arrayType: PostgresType { .byteaArray }
    /// bytea only.
    public static func readsElement(_ type: PostgresType) -> Bool { type == .bytea }
    /// bytea[] only.
    public static func readsArray(_ type: PostgresType) -> Bool { type == .byteaArray }

    /// As many as there are.
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
    /// uuid.
    public static var postgresType: PostgresType { .uuid }
    /// uuid[].
    public static var arrayType: PostgresType { .uuidArray }

    /// Sixteen bytes.
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
