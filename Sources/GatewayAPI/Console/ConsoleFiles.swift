import EmbeddedFiles

/// The files of the console, as they are served.
enum ConsoleFiles {
    /// Each file by its path below `/console/`, compressed once.
    static let all: [String: StaticContent] = Dictionary(
        uniqueKeysWithValues: EmbeddedFile.console.map { file in
            (file.name, StaticContent(file.bytes, type: type(of: file.name)))
        })

    /// The page that loads the others.
    static let indexName = "index.html"

    /// Returns a file, or `nil` if there is none. The first call compresses all files, which takes longer than the
    /// thread of a connection may be held up.
    @concurrent static func file(_ name: String) async -> StaticContent? { all[name] }

    /// The media type of a file by its extension.
    ///
    /// - Precondition: The extension is known.
    static func type(of name: String) -> String {
        let start = name.utf8.lastIndex(of: UInt8(ascii: ".")) ?? name.startIndex
        switch name[start...] {
        case ".html": return "text/html; charset=utf-8"
        case ".css": return "text/css; charset=utf-8"
        case ".js": return "text/javascript; charset=utf-8"
        case ".svg": return "image/svg+xml"
        default: preconditionFailure("The console has no files of this kind: \(name)")
        }
    }
}
