import HTTPServing

/// Writes header fields into memory, in the form that ``HeaderFields`` keeps them in.
@safe struct HeaderFieldOutput {
    private let memory: UnsafeMutableRawBufferPointer
    /// Bytes written.
    private(set) var count = 0

    init(_ memory: UnsafeMutableRawBufferPointer) {
        unsafe self.memory = unsafe memory
    }

    /// How much memory is enough for the fields of a head.
    static func capacity(headBytes: Int, fields: Int) -> Int {
        headBytes + fields * HeaderFields.overhead
    }

    /// Adds a field, of a name that is a token and a legal value.
    mutating func append(_ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) {
        let size = name.count + value.count + HeaderFields.overhead
        unsafe precondition(
            size <= memory.count - count && name.count <= Int(UInt16.max) && value.count <= Int(UInt32.max),
            "a head's fields are longer than the head")
        unsafe memory.storeBytes(
            of: UInt16(truncatingIfNeeded: name.count).littleEndian, toByteOffset: count, as: UInt16.self)
        unsafe memory.storeBytes(
            of: UInt32(truncatingIfNeeded: value.count).littleEndian, toByteOffset: count + 2, as: UInt32.self)
        unsafe put(name, at: 6)
        unsafe put(value, at: 6 + name.count + 1)
        count += size
    }

    /// Copies bytes to behind those written, and a NUL.
    private func put(_ bytes: UnsafeRawBufferPointer, at offset: Int) {
        let end = count + offset + bytes.count
        unsafe UnsafeMutableRawBufferPointer(rebasing: memory[(count + offset)..<end]).copyMemory(from: bytes)
        unsafe memory[end] = 0
    }
}
