public import FoundationEssentials
import Glibc

// Arrays that are written element by element, directly into the buffer, without a Swift array.
extension PostgresParameters {
    /// Adds an array as the next parameter.
    ///
    /// - Parameters:
    ///   - element: Type of the elements: bool, int4, int8, text, bytea, timestamptz or uuid.
    ///   - count: Number of elements.
    ///   - write: Adds exactly `count` elements of the type, with ``add(_:)-(Int32)`` and its variants.
    public mutating func appendArray(
        of element: PostgresType, count: Int,
        _ write: (inout PostgresParameters) throws(PostgresError) -> Void
    ) throws(PostgresError) {
        guard let type = element.array else {
            throw .encoding(parameter: self.count + 1, reason: "no array of type \(element.oid)")
        }
        let start = bytes.count
        bytes.appendBigEndian(Int32(count == 0 ? 0 : 1))
        bytes.appendBigEndian(Int32(0))
        bytes.appendBigEndian(element.oid)
        if count > 0 {
            bytes.appendBigEndian(Int32(truncatingIfNeeded: count))
            bytes.appendBigEndian(Int32(1))
        }
        arrayStart = start
        try write(&self)
        try append(type, from: start)
    }

    /// Adds an element of type bool.
    public mutating func add(_ value: Bool) {
        let buffer = unsafe bytes.add(5)
        unsafe buffer.storeBigEndian(Int32(1))
        unsafe buffer[4] = value ? 1 : 0
    }

    /// Adds an element of type int4.
    public mutating func add(_ value: Int32) {
        let buffer = unsafe bytes.add(8)
        unsafe buffer.storeBigEndian(Int32(4))
        unsafe buffer.storeBigEndian(value, at: 4)
    }

    /// Adds an element of type int8.
    public mutating func add(_ value: Int64) {
        let buffer = unsafe bytes.add(12)
        unsafe buffer.storeBigEndian(Int32(8))
        unsafe buffer.storeBigEndian(value, at: 4)
    }

    /// Adds an element of type timestamptz, rounded to the microsecond.
    public mutating func add(_ value: Date) throws(PostgresError) {
        guard !value.timeIntervalSince1970.isNaN else {
            throw .encoding(parameter: count + 1, reason: "date that is not a number")
        }
        let buffer = unsafe bytes.add(12)
        unsafe buffer.storeBigEndian(Int32(8))
        unsafe PostgresTimestamp(value).store(into: UnsafeMutableRawBufferPointer(rebasing: buffer[4...]))
    }

    /// Adds an element of type uuid.
    public mutating func add(_ value: UUID) {
        let buffer = unsafe bytes.add(20)
        unsafe buffer.storeBigEndian(Int32(16))
        unsafe buffer.storeBytes(of: value.uuid, toByteOffset: 4, as: uuid_t.self)
    }

    /// Adds an element of type text.
    public mutating func add(_ value: String) throws(PostgresError) {
        let hasNUL = unsafe value.withContiguousBytes { text in
            let buffer = unsafe bytes.add(4 + text.count)
            unsafe buffer.storeBigEndian(Int32(truncatingIfNeeded: text.count))
            guard let source = text.baseAddress, let target = buffer.baseAddress else { return false }
            unsafe memcpy(target + 4, source, text.count)
            return unsafe memchr(source, 0, text.count) != nil
        }
        guard !hasNUL else { throw .encoding(parameter: count + 1, reason: "text with a NUL character") }
    }

    /// Adds an element of type bytea.
    public mutating func add(_ value: [UInt8]) {
        let buffer = unsafe bytes.add(4 + value.count)
        unsafe buffer.storeBigEndian(Int32(truncatingIfNeeded: value.count))
        unsafe UnsafeMutableRawBufferPointer(rebasing: buffer[4...]).copyBytes(from: value)
    }

    /// Adds NULL as an element.
    public mutating func addNull() {
        bytes.overwriteBigEndian(1, at: arrayStart + 4)
        bytes.appendBigEndian(Int32(-1))
    }
}

extension PostgresType {
    /// The array type with elements of this type.
    fileprivate var array: PostgresType? {
        switch self {
        case .bool: .boolArray
        case .int4: .int4Array
        case .int8: .int8Array
        case .text: .textArray
        case .bytea: .byteaArray
        case .timestamptz: .timestamptzArray
        case .uuid: .uuidArray
        default: nil
        }
    }
}
