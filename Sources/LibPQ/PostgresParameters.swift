/// The parameters of one execution, in binary, in one buffer that is kept for the next execution.
@safe
public struct PostgresParameters: ~Copyable {
    /// A field of PostgreSQL holds less than a gibibyte.
    private static let maxBytes = 0x3fff_ffff

    var bytes = ByteBuffer()
    private(set) var types: [PostgresType] = []
    /// Where each parameter starts; negative for NULL.
    private var starts: [Int] = []
    private var lengths: [Int32] = []
    /// Where the array starts that is being written.
    var arrayStart = 0
    /// What libpq is told of each: where it is, and that it is binary.
    private var addresses: [UnsafePointer<CChar>?] = unsafe []
    private var formats: [Int32] = []

    init() {}

    var count: Int { starts.count }

    /// Forgets the parameters but keeps the memory, unless a large one came by.
    mutating func removeAll() {
        bytes.removeAll(keepingUpTo: 4 << 20)
        types.removeAll(keepingCapacity: true)
        starts.removeAll(keepingCapacity: true)
        lengths.removeAll(keepingCapacity: true)
    }

    @inline(__always)
    mutating func append(
        _ type: PostgresType, _ write: (inout ByteBuffer) throws(PostgresValueError) -> Void
    ) throws(PostgresError) {
        let start = bytes.count
        do {
            try write(&bytes)
        } catch {
            throw .encoding(parameter: count + 1, reason: error.reason)
        }
        try append(type, from: start)
    }

    /// Makes a parameter of the bytes from a place on.
    mutating func append(_ type: PostgresType, from start: Int) throws(PostgresError) {
        guard bytes.count - start <= Self.maxBytes else {
            throw .encoding(parameter: count + 1, reason: "larger than PostgreSQL takes")
        }
        types.append(type)
        starts.append(start)
        lengths.append(Int32(bytes.count - start))
    }

    /// Adds NULL as the next parameter.
    mutating func appendNull(_ type: PostgresType) {
        types.append(type)
        starts.append(-1)
        lengths.append(0)
    }

    /// Calls `body` with what libpq wants to know: where each value is
    /// (NULL for NULL), how long, and that it is binary.
    mutating func withPointers<Result>(
        _ body: (UnsafePointer<UnsafePointer<CChar>?>?, UnsafePointer<Int32>?, UnsafePointer<Int32>?) -> Result
    ) -> Result {
        while formats.count < count { formats.append(1) }
        // A value of no bytes is not NULL and wants an address, even where the buffer has none.
        if bytes.count == 0 { bytes.appendBigEndian(UInt8(0)) }
        let base = unsafe bytes.bytes.baseAddress?.assumingMemoryBound(to: CChar.self)
        unsafe addresses.removeAll(keepingCapacity: true)
        for start in starts {
            unsafe addresses.append(start < 0 ? nil : base?.advanced(by: start))
        }
        return unsafe body(addresses, lengths, formats)
    }
}
