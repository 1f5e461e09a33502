/// The parameters of one execution, in binary, in one buffer that the next execution reuses.
@safe
public struct PostgresParameters: ~Copyable {
    /// A field of PostgreSQL holds less than 1 GiB.
    private static let maxBytes = 0x3fff_ffff

    var bytes = ByteBuffer()
    private(set) var types: [PostgresType] = []
    /// Offset of each parameter; negative for NULL.
    private var starts: [Int] = []
    private var lengths: [Int32] = []
    /// Offset of the array that is being written.
    var arrayStart = 0
    /// Address and format of each parameter, as libpq takes them; 1 means binary.
    private var addresses: [UnsafePointer<CChar>?] = unsafe []
    private var formats: [Int32] = []

    init() {}

    var count: Int { starts.count }

    /// Removes the parameters. Keeps the memory unless a large parameter has made it grow above 4 MiB.
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

    /// Makes a parameter from all bytes after an offset.
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

    /// Calls `body` with the arrays that libpq takes: the address of each value (NULL for NULL), its length and its
    /// format, which is binary.
    mutating func withPointers<Result>(
        _ body: (UnsafePointer<UnsafePointer<CChar>?>?, UnsafePointer<Int32>?, UnsafePointer<Int32>?) -> Result
    ) -> Result {
        while formats.count < count { formats.append(1) }
        // A value without bytes is not NULL and needs an address, even if the buffer has none.
        if bytes.count == 0 { bytes.appendBigEndian(UInt8(0)) }
        let base = unsafe bytes.bytes.baseAddress?.assumingMemoryBound(to: CChar.self)
        unsafe addresses.removeAll(keepingCapacity: true)
        for start in starts {
            unsafe addresses.append(start < 0 ? nil : base?.advanced(by: start))
        }
        return unsafe body(addresses, lengths, formats)
    }
}
