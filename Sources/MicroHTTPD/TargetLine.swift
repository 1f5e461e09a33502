import Glibc

/// The target of the request line, before libmicrohttpd decodes it in place.
struct TargetLine {
    /// `nil` unless it is `*` or a path of printable ASCII without `#`.
    let text: String?
    /// The bytes up to the first NUL.
    let length: Int

    init(reading target: UnsafePointer<CChar>?) {
        guard let target = unsafe target else {
            text = nil
            length = 0
            return
        }
        let bytes = unsafe UnsafeRawBufferPointer(start: target, count: strlen(target))
        length = bytes.count
        // The loop has no early exit, so that it can process many bytes at a time.
        var isForbidden = false
        for index in 0..<bytes.count {
            let byte = unsafe bytes[index]
            isForbidden = isForbidden || byte <= 0x20 || byte >= 0x7F || byte == UInt8(ascii: "#")
        }
        let first = unsafe bytes.first
        let isPath = first == UInt8(ascii: "/") || first == UInt8(ascii: "*") && bytes.count == 1
        text = unsafe isPath && !isForbidden ? String(decoding: bytes, as: UTF8.self) : nil
    }

    /// Empties the query in libmicrohttpd's buffer, once it has been read.
    ///
    /// libmicrohttpd 0.9.75 would take the query apart and keep each parameter. Where its memory does not suffice, it
    /// queues a refusal, then forgets that, and waits for the rest of a head that it no longer reads.
    static func hideQuery(in target: UnsafePointer<CChar>) {
        guard let mark = unsafe strchr(target, Int32(UInt8(ascii: "?"))), unsafe mark[1] != 0 else { return }
        unsafe mark[1] = 0
    }
}
