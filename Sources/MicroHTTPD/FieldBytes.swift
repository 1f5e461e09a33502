import Bytes

/// Names and values of header fields as bytes, in libmicrohttpd's buffer or in ours.
enum FieldBytes {
    /// Whether bytes are a token (RFC 9110, 5.6.2).
    static func isToken(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard bytes.count > 0 else { return false }
        for index in 0..<bytes.count where unsafe !ByteSet.token.contains(bytes[index]) { return false }
        return true
    }

    /// Whether bytes equal a word in lower case, regardless of their case.
    static func spell(_ bytes: UnsafeRawBufferPointer, _ word: StaticString) -> Bool {
        guard bytes.count == word.utf8CodeUnitCount else { return false }
        for index in 0..<bytes.count {
            if unsafe bytes[index].lowercased != word.utf8Start[index] { return false }
        }
        return true
    }

    /// A value without surrounding spaces; `nil` if it contains a control character or is not UTF-8.
    static func trimmed(_ bytes: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer? {
        var range = 0..<bytes.count
        while let last = range.last, unsafe isBlank(bytes[last]) { range.removeLast() }
        while let first = range.first, unsafe isBlank(bytes[first]) { range.removeFirst() }
        let kept = unsafe UnsafeRawBufferPointer(rebasing: bytes[range])
        // Without an early exit and with numbers instead of conditions, the loop handles many bytes at a time.
        var doubts: UInt8 = 0
        for index in 0..<kept.count {
            let byte = unsafe kept[index]
            doubts |= (byte < 0x20 ? 1 : 0) | (byte >= 0x7F ? 1 : 0)
        }
        guard doubts != 0 else { return unsafe kept }
        guard unsafe kept.allSatisfy({ $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 }),
            unsafe String(validating: kept, as: UTF8.self) != nil
        else { return nil }
        return unsafe kept
    }

    private static func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }

    /// A decimal number; `nil` for anything but digits, and if it is too large.
    static func number(_ bytes: UnsafeRawBufferPointer) -> Int64? {
        guard bytes.count > 0 else { return nil }
        var number: Int64 = 0
        for index in 0..<bytes.count {
            let byte = unsafe bytes[index]
            guard byte >= 0x30, byte <= 0x39 else { return nil }
            let (tens, isTooMany) = number.multipliedReportingOverflow(by: 10)
            let (sum, isTooLarge) = tens.addingReportingOverflow(Int64(byte - 0x30))
            guard !isTooMany, !isTooLarge else { return nil }
            number = sum
        }
        return number
    }

    /// Letters, digits and the other characters of a host, a port or an IPv6 literal.
    static let authority = ByteSet.unreserved.union(":[]")

    /// Whether the server itself writes the field with this name.
    static func isServers(_ name: UnsafeRawBufferPointer) -> Bool {
        switch name.count {
        case 4: unsafe spell(name, "date")
        case 10: unsafe spell(name, "connection") || spell(name, "keep-alive")
        case 14: unsafe spell(name, "content-length")
        case 17: unsafe spell(name, "transfer-encoding")
        default: false
        }
    }
}
