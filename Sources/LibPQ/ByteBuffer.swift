import Glibc

/// Bytes that are written one after another into memory that is kept for the next time.
@safe
struct ByteBuffer: ~Copyable {
    private(set) var count = 0
    private var capacity = 0
    private var base: UnsafeMutableRawPointer?

    deinit {
        unsafe free(base)
    }

    /// The bytes, as long as nothing is added.
    var bytes: UnsafeRawBufferPointer { unsafe UnsafeRawBufferPointer(start: base, count: count) }

    /// Forgets the bytes but keeps the memory, unless that is much.
    mutating func removeAll(keepingUpTo limit: Int) {
        count = 0
        guard capacity > limit else { return }
        unsafe free(base)
        unsafe base = nil
        capacity = 0
    }

    /// Adds so many bytes, all of which the caller writes before it adds more.
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

    /// Adds a number, its first byte the most significant.
    @inline(__always)
    mutating func appendBigEndian<Integer: FixedWidthInteger>(_ value: Integer) {
        unsafe add(MemoryLayout<Integer>.size).storeBigEndian(value)
    }

    /// Changes a number that was added before.
    mutating func overwriteBigEndian(_ value: Int32, at offset: Int) {
        unsafe UnsafeMutableRawBufferPointer(start: base, count: count).storeBigEndian(value, at: offset)
    }
}
