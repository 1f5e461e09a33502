extension StringProtocol {
    /// Whether the text has so many bytes, all of them of a set.
    public func consists(of set: ByteSet, count: ClosedRange<Int>) -> Bool {
        count ~= utf8.count && utf8.allSatisfy(set.contains)
    }
}
