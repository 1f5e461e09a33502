import CLibZ

/// Compresses whole files, by zlib.
public enum Gzip {
    /// Returns the bytes as one gzip member (RFC 1952) without a name or a time, as small as zlib makes it. The same
    /// bytes always give the same result.
    public static func compressed(_ bytes: [UInt8]) -> [UInt8] {
        precondition(bytes.count < 1 << 30, "Files of the program are small.")
        var stream = unsafe z_stream()
        // zlib keeps the address of the stream, so all calls are within one access.
        return unsafe withUnsafeMutablePointer(to: &stream) { stream in
            let begun = unsafe sluice_deflate_init_gzip(stream, Z_BEST_COMPRESSION)
            precondition(begun == Z_OK, "zlib \(begun) cannot begin: no memory, or another version of the library.")
            defer { unsafe deflateEnd(stream) }
            let room = unsafe Int(deflateBound(stream, UInt(bytes.count)))
            return unsafe [UInt8](unsafeUninitializedCapacity: room) { output, count in
                let end = unsafe bytes.withUnsafeBufferPointer { input in
                    unsafe stream.pointee.next_in = UnsafeMutablePointer(mutating: input.baseAddress)
                    unsafe stream.pointee.avail_in = UInt32(input.count)
                    unsafe stream.pointee.next_out = output.baseAddress
                    unsafe stream.pointee.avail_out = UInt32(output.count)
                    return unsafe deflate(stream, Z_FINISH)
                }
                precondition(end == Z_STREAM_END, "The output has room for the worst case.")
                count = unsafe room - Int(stream.pointee.avail_out)
            }
        }
    }
}
