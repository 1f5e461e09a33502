extension SettingName {
    /// Says that no setting has a key, and which one was probably meant.
    static func flaw(ofKey key: String) -> String {
        "there is no setting '\(key)'" + (nearest(to: key).map { "; did you mean '\($0.rawValue)'?" } ?? "")
    }

    /// The setting whose variable or key resembles a misspelt one most; `nil` if none does.
    ///
    /// - Parameter text: A variable such as `SLUICE_LISTEM`, or a key such as `listem`.
    static func nearest(to text: String) -> SettingName? {
        let isVariable = text.hasPrefix("SLUICE_")
        let wanted = Array((isVariable ? text : text.lowercased()).utf8)
        let candidates = allCases.map { name in
            (name, distance(wanted, Array((isVariable ? name.variable : name.rawValue).utf8)))
        }
        guard let best = candidates.min(by: { $0.1 < $1.1 }), best.1 <= max(1, wanted.count / 5) else { return nil }
        return best.0
    }

    /// The number of letters to insert, remove, replace or exchange with a neighbour to make one text of the other.
    private static func distance(_ first: [UInt8], _ second: [UInt8]) -> Int {
        var before: [Int] = []
        var row = Array(0...second.count)
        for (i, letter) in first.enumerated() {
            var next = [i + 1]
            for (j, other) in second.enumerated() {
                var cost = min(next[j] + 1, row[j + 1] + 1, row[j] + (letter == other ? 0 : 1))
                if i > 0, j > 0, letter == second[j - 1], first[i - 1] == other { cost = min(cost, before[j - 1] + 1) }
                next.append(cost)
            }
            (before, row) = (row, next)
        }
        return row[second.count]
    }
}
