/// Parses the single byte range of a request (RFC 9110, section 14).
enum ByteRange {
    /// Parses a `Range` header for an object of `byteCount` bytes.
    ///
    /// - Returns: The range; `nil` for a header that must be ignored, such as one with another unit, several ranges or
    ///   no number.
    /// - Throws: ``StoreError/invalidRange(byteCount:)`` if the object has none of the requested bytes.
    static func parse(_ header: String, byteCount: Int64) throws(StoreError) -> Range<Int64>? {
        guard header.lowercased().hasPrefix("bytes=") else { return nil }
        let ends = header.dropFirst(6).split(separator: "-", maxSplits: 1, omittingEmptySubsequences: false)
        guard ends.count == 2, ends.allSatisfy({ $0.utf8.allSatisfy { (0x30...0x39).contains($0) } }) else {
            return nil
        }
        switch (number(ends[0]), number(ends[1])) {
        case (let first?, let last):
            if let last, last < first { return nil }
            guard first < byteCount else { throw .invalidRange(byteCount: byteCount) }
            return first..<(min(last ?? .max, byteCount - 1) + 1)
        case (nil, let suffix?):
            guard suffix > 0, byteCount > 0 else { throw .invalidRange(byteCount: byteCount) }
            return max(0, byteCount - suffix)..<byteCount
        case (nil, nil):
            return nil
        }
    }

    /// Parses a decimal number. Too many digits give the largest number, and no digits give `nil`.
    private static func number(_ digits: Substring) -> Int64? {
        digits.isEmpty ? nil : Int64(digits) ?? .max
    }
}
