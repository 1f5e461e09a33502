// The binary form of an array begins with the number of dimensions, whether there are NULLs, and the type of the
// elements. Then follow, for each dimension, its length and lower bound. Each element is a length (-1 for NULL) and its
// bytes. All numbers are 32 bits, big-endian. See PostgreSQL source, src/backend/utils/adt/arrayfuncs.c, array_recv.

extension Array: PostgresValue where Element: PostgresElement {
    /// The array type of the elements; bytea for bytes.
    public static var postgresType: PostgresType { Element.arrayType }
    /// Whether the elements can be read from an array of a type.
    public static func reads(_ type: PostgresType) -> Bool { Element.readsArray(type) }

    /// Adds the array as the next parameter.
    public func encode(into parameters: inout PostgresParameters) throws(PostgresError) {
        try Element.encodeArray(self, into: &parameters)
    }

    /// Reads a field that must not be NULL.
    public static func decode(
        _ payload: Span<UInt8>, isNull: Bool, type: PostgresType
    ) throws(PostgresValueError) -> [Element] {
        guard !isNull else { throw PostgresValueError("unexpected NULL") }
        return try Element.decodeArray(payload, type: type)
    }
}

extension Optional: PostgresElement where Wrapped: PostgresScalar {
    /// The array type of the wrapped value.
    public static var arrayType: PostgresType { Wrapped.arrayType }
    /// Whether arrays of the wrapped value can be read from a type.
    public static func readsArray(_ type: PostgresType) -> Bool { Wrapped.readsArray(type) }

    /// Adds an array with NULLs as the next parameter.
    public static func encodeArray(
        _ elements: [Wrapped?], into parameters: inout PostgresParameters
    ) throws(PostgresError) {
        try Wrapped.encodeOptionals(elements, into: &parameters)
    }

    /// Reads an array with NULLs.
    public static func decodeArray(
        _ payload: Span<UInt8>, type: PostgresType
    ) throws(PostgresValueError) -> [Wrapped?] {
        try Wrapped.decodeOptionals(payload)
    }
}

/// A byte is not a value of its own. As an element, it makes the array a bytea.
extension UInt8: PostgresElement {
    /// The type bytea.
    public static var arrayType: PostgresType { .bytea }
    /// Returns `true` for bytea only.
    public static func readsArray(_ type: PostgresType) -> Bool { type == .bytea }

    /// Adds the bytes as the next parameter.
    public static func encodeArray(
        _ elements: [UInt8], into parameters: inout PostgresParameters
    ) throws(PostgresError) {
        try parameters.append(.bytea) { bytes throws(PostgresValueError) in
            unsafe bytes.add(elements.count).copyBytes(from: elements)
        }
    }

    /// Copies the bytes.
    public static func decodeArray(_ payload: Span<UInt8>, type: PostgresType) throws(PostgresValueError) -> [UInt8] {
        payload.copied()
    }
}

extension PostgresScalar {
    /// Adds an array without NULLs as the next parameter.
    public static func encodeArray(
        _ elements: [Self], into parameters: inout PostgresParameters
    ) throws(PostgresError) {
        try parameters.append(arrayType) { bytes throws(PostgresValueError) in
            var size = 0
            for element in elements { size += 4 + (try element.byteCount()) }
            writeHeader(count: elements.count, hasNulls: false, to: &bytes)
            let buffer = unsafe bytes.add(size)
            var offset = 0
            for element in elements { unsafe offset += try element.storeElement(into: buffer, at: offset) }
        }
    }

    /// Adds an array with NULLs as the next parameter.
    public static func encodeOptionals(
        _ elements: [Self?], into parameters: inout PostgresParameters
    ) throws(PostgresError) {
        try parameters.append(arrayType) { bytes throws(PostgresValueError) in
            var size = 0
            for element in elements { size += 4 + (try element?.byteCount() ?? 0) }
            writeHeader(count: elements.count, hasNulls: elements.contains { $0 == nil }, to: &bytes)
            let buffer = unsafe bytes.add(size)
            var offset = 0
            for element in elements {
                if let element {
                    unsafe offset += try element.storeElement(into: buffer, at: offset)
                } else {
                    unsafe buffer.storeBigEndian(Int32(-1), at: offset)
                    offset += 4
                }
            }
        }
    }

    private static func writeHeader(count: Int, hasNulls: Bool, to bytes: inout ByteBuffer) {
        bytes.appendBigEndian(Int32(count == 0 ? 0 : 1))
        bytes.appendBigEndian(Int32(hasNulls ? 1 : 0))
        bytes.appendBigEndian(postgresType.oid)
        guard count > 0 else { return }
        bytes.appendBigEndian(Int32(truncatingIfNeeded: count))
        bytes.appendBigEndian(Int32(1))
    }

    /// Writes the length and the value; returns the number of bytes written.
    @inline(__always)
    private func storeElement(
        into buffer: UnsafeMutableRawBufferPointer, at offset: Int
    ) throws(PostgresValueError) -> Int {
        let size = try byteCount()
        unsafe buffer.storeBigEndian(Int32(truncatingIfNeeded: size), at: offset)
        unsafe store(into: UnsafeMutableRawBufferPointer(rebasing: buffer[(offset + 4)..<(offset + 4 + size)]))
        return 4 + size
    }

    /// Reads an array without NULLs.
    public static func decodeArray(_ payload: Span<UInt8>, type: PostgresType) throws(PostgresValueError) -> [Self] {
        var elements: [Self] = []
        try forEachElement(of: payload) { element throws(PostgresValueError) in
            guard let element else { throw PostgresValueError("unexpected NULL in an array") }
            elements.append(element)
        } reserving: {
            elements.reserveCapacity($0)
        }
        return elements
    }

    /// Reads an array with NULLs.
    public static func decodeOptionals(_ payload: Span<UInt8>) throws(PostgresValueError) -> [Self?] {
        var elements: [Self?] = []
        try forEachElement(of: payload) { element throws(PostgresValueError) in
            elements.append(element)
        } reserving: {
            elements.reserveCapacity($0)
        }
        return elements
    }

    @inline(__always)
    private static func forEachElement(
        of payload: Span<UInt8>, _ body: (Self?) throws(PostgresValueError) -> Void, reserving: (Int) -> Void
    ) throws(PostgresValueError) {
        var cursor = PayloadCursor()
        guard let dimensions = cursor.int32(in: payload), cursor.int32(in: payload) != nil,
            let oid = cursor.int32(in: payload)
        else {
            throw PostgresValueError("malformed array")
        }
        let type = PostgresType(oid: UInt32(bitPattern: oid))
        guard readsElement(type) else { throw PostgresValueError("array of type \(type.oid), not of \(Self.self)") }
        guard dimensions != 0 else { return }
        guard dimensions == 1 else { throw PostgresValueError("array of \(dimensions) dimensions") }
        // Each element takes at least the four bytes of its length, so a larger count is wrong.
        guard let count = cursor.int32(in: payload), cursor.int32(in: payload) != nil, count >= 0,
            Int(count) * 4 <= cursor.remaining(in: payload)
        else {
            throw PostgresValueError("malformed array")
        }
        reserving(Int(count))
        for _ in 0..<count {
            guard let length = cursor.int32(in: payload) else { throw PostgresValueError("malformed array") }
            guard length != -1 else {
                try body(nil)
                continue
            }
            guard let range = cursor.take(Int(length), in: payload),
                let element = read(payload.extracting(range), type: type)
            else { throw PostgresValueError("malformed \(Self.self) in an array") }
            try body(element)
        }
    }
}
