import HTTPServing

/// Writes header fields into memory, in the format of ``HeaderFields``.
@safe struct HeaderFieldOutput {
    private let memory: UnsafeMutableRawBufferPointer
    /// Bytes written.
    private(set) var count = 0

    init(_ memory: UnsafeMutableRawBufferPointer) {
        unsafe self.memory = unsafe memory
    }

    /// Bytes that suffice for the fields of a head.
    static func capacity(headBytes: Int, fields: Int) -> Int {
        headBytes + fields * HeaderFields.overhead
    }

    /// Adds a field. The name must be a token and the value valid.
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

    /// Appends bytes and a NUL.
    private func put(_ bytes: UnsafeRawBufferPointer, at offset: Int) {
        let end = count + offset + bytes.count
        unsafe UnsafeMutableRawBufferPointer(rebasing: memory[(count + offset)..<end]).copyMemory(from: bytes)
        unsafe memory[end] = 0
    }
}
