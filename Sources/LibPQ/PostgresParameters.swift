/// The parameters of one execution, in binary, in one buffer.
public struct PostgresParameters: Sendable {
    /// A field of PostgreSQL holds less than a gibibyte.
    private static let maxBytes = 0x3fff_ffff

    private(set) var bytes: [UInt8] = []
    private(set) var types: [PostgresType] = []
    /// Where each parameter starts; negative for NULL.
    private(set) var starts: [Int] = []
    private(set) var lengths: [Int32] = []

    init() {}

    var count: Int { starts.count }

    /// Forgets the parameters but keeps the memory, unless a large one came by.
    mutating func removeAll() {
        bytes.removeAll(keepingCapacity: bytes.capacity <= 4 << 20)
        types.removeAll(keepingCapacity: true)
        starts.removeAll(keepingCapacity: true)
        lengths.removeAll(keepingCapacity: true)
    }

    @inline(__always)
    mutating func append(
        _ type: PostgresType, _ write: (inout [UInt8]) throws(PostgresValueError) -> Void
    ) throws(PostgresError) {
        let start = bytes.count
        do {
            try write(&bytes)
        } catch {
            throw .encoding(parameter: count + 1, reason: error.reason)
        }
        guard bytes.count - start <= Self.maxBytes else {
            throw .encoding(parameter: count + 1, reason: "larger than PostgreSQL takes")
        }
        types.append(type)
        starts.append(start)
        lengths.append(Int32(bytes.count - start))
    }

    mutating func appendNull(_ type: PostgresType) {
        types.append(type)
        starts.append(-1)
        lengths.append(0)
    }
}

extension PostgresParameters {
    /// Calls `body` with what libpq wants to know: where each value is (NULL for NULL), how long, and that it is binary.
    func withPointers<Result>(
        _ body: (UnsafePointer<UnsafePointer<CChar>?>?, UnsafePointer<Int32>?, UnsafePointer<Int32>?) -> Result
    ) -> Result {
        let formats = [Int32](repeating: 1, count: count)
        return unsafe bytes.withUnsafeBytes { buffer in
            // A value of no bytes is not NULL and wants an address, even where the buffer has none.
            var empty: CChar = 0
            return unsafe withUnsafePointer(to: &empty) { empty in
                let base = unsafe buffer.baseAddress?.assumingMemoryBound(to: CChar.self) ?? empty
                let values = unsafe starts.map { start -> UnsafePointer<CChar>? in
                    start < 0 ? nil : unsafe base + start
                }
                return unsafe body(values, lengths, formats)
            }
        }
    }
}
