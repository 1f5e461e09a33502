extension StringProtocol {
    /// The text without what editors, shells and servers leave at its ends.
    ///
    /// - Parameter isOuter: Which characters are removed from both ends; white space and line breaks by default.
    public func trimmed(_ isOuter: (Character) -> Bool = { $0.isWhitespace }) -> String {
        let tail = drop(while: isOuter)
        guard let last = tail.lastIndex(where: { !isOuter($0) }) else { return "" }
        return String(tail[...last])
    }
}
