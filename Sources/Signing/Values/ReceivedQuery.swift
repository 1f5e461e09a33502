import Bytes

/// A query as received in a URL.
enum ReceivedQuery {
    /// Splits and decodes a query; `nil` when a part is empty, badly encoded or not UTF-8.
    ///
    /// `+` decodes to a space, as stores read it.
    static func pairs(in query: ArraySlice<UInt8>) -> [NamedValue]? {
        guard !query.isEmpty else { return [] }
        var pairs: [NamedValue] = []
        for part in query.split(separator: UInt8(ascii: "&"), omittingEmptySubsequences: false) {
            let sides = part.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
            guard let name = sides.first.flatMap(text(of:)), !name.isEmpty,
                let value = sides.count == 2 ? text(of: sides[1]) : ""
            else { return nil }
            pairs.append(NamedValue(name, value))
        }
        return pairs
    }

    private static func text(of encoded: ArraySlice<UInt8>) -> String? {
        PercentEncoding.text(encoded, plusIsSpace: true)
    }
}
