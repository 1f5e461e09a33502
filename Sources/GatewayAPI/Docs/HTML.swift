/// Writes what the contract says as HTML.
enum HTML {
    /// A text, with nothing in it that HTML would read.
    static func text(_ text: String) -> String {
        var escaped = ""
        for character in text {
            switch character {
            case "&": escaped += "&amp;"
            case "<": escaped += "&lt;"
            case ">": escaped += "&gt;"
            case "\"": escaped += "&quot;"
            case "'": escaped += "&#39;"
            default: escaped.append(character)
            }
        }
        return escaped
    }

    /// A path that may break behind its slashes.
    static func path(_ path: String) -> String {
        text(path).replacing("/", with: "/<wbr>")
    }

    /// A line of Markdown; of its marks the contract uses backticks alone.
    static func inline(_ markdown: String) -> String {
        let parts = markdown.split(separator: "`", omittingEmptySubsequences: false)
        return parts.enumerated().map { index, part in
            // A backtick without a second one is itself.
            if index.isMultiple(of: 2) || index == parts.count - 1 {
                return (index.isMultiple(of: 2) ? "" : "`") + text(String(part))
            }
            return "<code>\(text(String(part)))</code>"
        }.joined()
    }

    /// Paragraphs of Markdown.
    static func markdown(_ markdown: String) -> String {
        var paragraphs: [[Substring]] = [[]]
        for line in markdown.split(separator: "\n", omittingEmptySubsequences: false) {
            if line.allSatisfy(\.isWhitespace) {
                paragraphs.append([])
            } else {
                paragraphs[paragraphs.count - 1].append(line)
            }
        }
        return paragraphs.filter { !$0.isEmpty }
            .map { "<p>\(inline($0.joined(separator: " ")))</p>" }.joined(separator: "\n")
    }
}
