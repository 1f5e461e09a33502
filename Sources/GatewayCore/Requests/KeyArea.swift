/// The keys below a literal prefix, as session policies name them.
struct KeyArea: Hashable, Sendable {
    /// Empty, a text that ends in `/`, or one whole key.
    let prefix: ExactText

    /// Whether more than one key can be in it.
    var isDirectory: Bool {
        prefix.rawValue.isEmpty || prefix.rawValue.utf8.last == UInt8(ascii: "/")
    }

    /// Whether every key of another area is in this one, by bytes.
    func covers(_ other: KeyArea) -> Bool {
        isDirectory ? other.prefix.rawValue.utf8.starts(with: prefix.rawValue.utf8) : prefix == other.prefix
    }

    /// The keys that are in both: areas cover one another or have none in common.
    func intersection(_ other: KeyArea) -> KeyArea? {
        covers(other) ? other : other.covers(self) ? self : nil
    }

    /// Whether a session policy can name it literally: there `*`, `?` and `${` stand for other texts, and cannot be escaped.
    var isNameable: Bool {
        let bytes = prefix.rawValue.utf8
        return !bytes.contains { $0 == UInt8(ascii: "*") || $0 == UInt8(ascii: "?") } && !bytes.holds("${")
            && prefix.rawValue.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control }
    }

    /// Areas without those that others cover, in the order of bytes.
    static func reduced(_ areas: Set<KeyArea>) -> [KeyArea] {
        // Whatever covers an area is a prefix of it, and so comes before it.
        let sorted = areas.sorted { $0.prefix.rawValue.utf8.lexicographicallyPrecedes($1.prefix.rawValue.utf8) }
        var kept: [KeyArea] = []
        for area in sorted where !kept.contains(where: { $0.covers(area) }) { kept.append(area) }
        return kept
    }
}
