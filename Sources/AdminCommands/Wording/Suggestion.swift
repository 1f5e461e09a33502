/// Finds the word that somebody probably meant.
public enum Suggestion {
    /// What people call things in other programs.
    private static let synonyms: [String: [String]] = [
        "ls": ["list"], "show": ["get", "list"], "view": ["get"], "describe": ["get"], "read": ["get"],
        "add": ["create"], "new": ["create"], "make": ["create"], "mb": ["create"], "put": ["replace"],
        "set": ["update", "replace"], "edit": ["update"], "patch": ["update"], "change": ["update"],
        "rm": ["delete"], "remove": ["delete"], "del": ["delete"], "rb": ["delete"], "revoke": ["delete"],
        "check": ["validate"], "test": ["validate"], "keys": ["api-keys"], "tokens": ["api-keys"],
        "whoami": ["caller"], "users": ["api-keys", "groups"], "permissions": ["grants"], "policies": ["grants"],
        "why": ["explain"],
        "logs": ["issuances", "audit"], "ledger": ["issuances"], "format": ["file-type"],
    ]

    /// Returns the known word that is nearest to a text; `nil` if none is near.
    ///
    /// - Parameters:
    ///   - text: What was written.
    ///   - known: The words that may be written. Earlier ones win.
    public static func nearest(to text: String, among known: [String]) -> String? {
        let key = AdminNames.key(text)
        guard !key.isEmpty else { return nil }
        if let meant = (synonyms[text.lowercased()] ?? []).first(where: known.contains) { return meant }
        let near = known.map { (word: $0, distance: distance(key, AdminNames.key($0))) }
            .filter { $0.distance <= max(1, min(key.count, AdminNames.key($0.word).count) / 3) }
            .min { $0.distance < $1.distance }
        if let near { return near.word }
        guard key.count >= 3 else { return nil }
        let beginning = known.filter { AdminNames.key($0).hasPrefix(key) }
        if beginning.count == 1 { return beginning[0] }
        // `max-bytes` is `conditions.max-bytes`.
        let ending = known.filter { $0.hasSuffix("." + text) }
        return ending.count == 1 ? ending[0] : nil
    }

    /// Returns the question, with a space before it; empty if there is nothing to suggest.
    static func question(_ text: String, among known: [String], prefix: String = "") -> String {
        nearest(to: text, among: known).map { " Did you mean '\(prefix)\($0)'?" } ?? ""
    }

    /// The number of letters to insert, remove, replace or swap with a neighbour.
    static func distance(_ left: String, _ right: String) -> Int {
        let left = Array(left)
        let right = Array(right)
        var before: [Int] = []
        var last = Array(0...right.count)
        for (row, letter) in left.enumerated() {
            var line = [row + 1]
            for (column, other) in right.enumerated() {
                var cost = min(last[column + 1] + 1, line[column] + 1, last[column] + (letter == other ? 0 : 1))
                if row > 0, column > 0, letter == right[column - 1], left[row - 1] == other {
                    cost = min(cost, before[column - 1] + 1)
                }
                line.append(cost)
            }
            before = last
            last = line
        }
        return last[right.count]
    }
}
