/// The keys that a literal prefix covers, as session policies name them.
struct KeyArea: Hashable, Sendable {
    /// Empty, a text that ends in `/`, or one whole key.
    let prefix: ExactText

    /// Whether the area can contain more than one key.
    var isDirectory: Bool {
        prefix.rawValue.isEmpty || prefix.rawValue.utf8.last == UInt8(ascii: "/")
    }

    /// Whether this area contains every key of another area; compares by bytes.
    func covers(_ other: KeyArea) -> Bool {
        isDirectory ? other.prefix.rawValue.utf8.starts(with: prefix.rawValue.utf8) : prefix == other.prefix
    }

    /// Returns the keys that both areas contain. One area covers the other, or they have no key in common.
    func intersection(_ other: KeyArea) -> KeyArea? {
        covers(other) ? other : other.covers(self) ? self : nil
    }

    /// Whether a session policy can name the area literally. In a policy, `*`, `?` and `${` match other texts and
    /// cannot be escaped.
    var isNameable: Bool {
        let bytes = prefix.rawValue.utf8
        return !bytes.contains { $0 == UInt8(ascii: "*") || $0 == UInt8(ascii: "?") } && !bytes.holds("${")
            && prefix.rawValue.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control }
    }

    /// Returns the areas that no other area covers, in byte order.
    static func reduced(_ areas: Set<KeyArea>) -> [KeyArea] {
        // An area that covers another is a prefix of it and therefore sorts before it.
        let sorted = areas.sorted { $0.prefix.rawValue.utf8.lexicographicallyPrecedes($1.prefix.rawValue.utf8) }
        var kept: [KeyArea] = []
        for area in sorted where !kept.contains(where: { $0.covers(area) }) { kept.append(area) }
        return kept
    }
}
