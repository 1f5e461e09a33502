extension StringProtocol {
    /// Whether the text has so many bytes, all of them of a set.
    public func consists(of set: ByteSet, count: ClosedRange<Int>) -> Bool {
        count ~= utf8.count && utf8.allSatisfy(set.contains)
    }
}

extension String {
    /// The text without the quotes around it, as entity tags have them; the whole text if there are none.
    public var withoutQuotes: String {
        let quote = UInt8(ascii: "\"")
        guard utf8.count >= 2, utf8.first == quote, utf8.last == quote else { return self }
        return String(Substring(utf8.dropFirst().dropLast()))
    }
}
