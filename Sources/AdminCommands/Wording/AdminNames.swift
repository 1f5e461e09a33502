/// Converts names of the contract to names of options: `maxTTL` becomes `--max-ttl`.
enum AdminNames {
    /// Returns the option for a member or parameter.
    static func option(_ name: String) -> String {
        let letters = Array(name)
        var option = ""
        for (index, letter) in letters.enumerated() {
            if letter == "_" { option += "-"; continue }
            if letter.isUppercase, index > 0, letters[index - 1] != "-", letters[index - 1] != ".",
                beginsWord(at: index, of: letters)
            {
                option += "-"
            }
            option += letter.lowercased()
        }
        return option
    }

    /// Tests whether a word begins at a capital letter. It does after a small letter, and also before one, except
    /// before the plural `s` of a name such as `sourceCIDRs`.
    private static func beginsWord(at index: Int, of letters: [Character]) -> Bool {
        if !letters[index - 1].isUppercase { return true }
        guard index + 1 < letters.count, letters[index + 1].isLowercase else { return false }
        let isPlural = letters[index + 1] == "s" && (index + 2 == letters.count || letters[index + 2].isUppercase)
        return !isPlural
    }

    /// Returns the form in which names are compared: without capitals, dashes and underscores.
    static func key(_ name: some StringProtocol) -> String {
        name.lowercased().filter { $0 != "-" && $0 != "_" }
    }
}
