import FoundationEssentials

/// The name of a line. Its answer repeats it even if the rest of the line cannot be read.
struct LineName: Decodable {
    private let name: String

    /// Returns the name; `nil` if the line has none.
    static func read(from line: Data) -> String? {
        try? JSONDecoder().decode(LineName.self, from: line).name
    }
}
