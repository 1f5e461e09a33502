import Glibc

/// A buffer of bytes that are appended in order. It keeps its memory for the next use.
@safe
struct ByteBuffer: ~Copyable {
    private(set) var count = 0
    private var capacity = 0
    private var base: UnsafeMutableRawPointer?

    deinit {
        unsafe free(base)
    }

    /// The bytes; valid until more are added.
    var bytes: UnsafeRawBufferPointer { unsafe UnsafeRawBufferPointer(start: base, count: count) }

    /// Removes the bytes. Keeps the memory unless it is more than `limit` bytes.
    mutating func removeAll(keepingUpTo limit: Int) {
        count = 0
        guard capacity > limit else { return }
        unsafe free(base)
        unsafe base = nil
        capacity = 0
    }

    /// Appends uninitialised bytes. The caller must write all of them before it adds more.
    @inline(__always)
    mutating func add(_ additional: Int) -> UnsafeMutableRawBufferPointer {
        if additional > capacity - count { grow(by: additional) }
        let start = unsafe base?.advanced(by: count)
        count += additional
        return unsafe UnsafeMutableRawBufferPointer(start: start, count: additional)
    }

    @inline(never)
    private mutating func grow(by additional: Int) {
        capacity = max(count + additional, capacity * 2, 1024)
        unsafe base = realloc(base, capacity)
        unsafe precondition(base != nil, "no memory for the parameters of a statement")
    }

    /// Appends a number in big-endian order.
    @inline(__always)
    mutating func appendBigEndian<Integer: FixedWidthInteger>(_ value: Integer) {
        unsafe add(MemoryLayout<Integer>.size).storeBigEndian(value)
    }

    /// Overwrites a number that was appended earlier.
    mutating func overwriteBigEndian(_ value: Int32, at offset: Int) {
        unsafe UnsafeMutableRawBufferPointer(start: base, count: count).storeBigEndian(value, at: offset)
    }
}
