/// The header lines of what a client wants signed, parsed.
struct HeaderLines {
    /// The headers, names in lower case and sorted.
    private(set) var headers: [NamedValue] = []

    /// Parses lines: a name, a colon and a value each. Names are in lower case, distinct and sorted.
    ///
    /// - Parameters:
    ///   - lines: The lines.
    ///   - prefix: What each name must begin with, and have more of.
    ///   - malformed: The refusal of a line that is not a header.
    /// - Throws: `malformed`, `valueNotAllowed` or `notAscending`.
    init(
        _ lines: ArraySlice<String>, prefix: String = "", malformed: StringToSignRefusal
    ) throws(StringToSignRefusal) {
        for line in lines {
            guard let colon = line.utf8.firstIndex(of: UInt8(ascii: ":")) else { throw malformed }
            let name = String(Substring(line.utf8[..<colon]))
            let value = String(Substring(line.utf8[colon...].dropFirst()))
            guard name.utf8.starts(with: prefix.utf8), name.utf8.count > prefix.utf8.count,
                (try? HeaderName.lowerCased(name)) == name
            else { throw malformed }
            guard value.utf8.first != UInt8(ascii: " "), value.utf8.last != UInt8(ascii: " ") else {
                throw .valueNotAllowed
            }
            if let last = headers.last {
                guard last.name.utf8.lexicographicallyPrecedes(name.utf8) else { throw .notAscending }
            }
            headers.append(NamedValue(name, value))
        }
    }
}
