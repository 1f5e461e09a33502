import Bytes

extension OutputSpan where Element == UInt8 {
    /// The bytes appended since a position, as a text.
    func text(from start: Int) -> String {
        let bytes = span.extracting(start..<count)
        return String(room: bytes.count) { $0.append(copying: bytes) }
    }
}
