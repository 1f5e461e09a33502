/// Renders texts of the contract as HTML.
enum HTML {
    /// Escapes a text for HTML.
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

    /// Renders a path that may break after its slashes.
    static func path(_ path: String) -> String {
        text(path).replacing("/", with: "/<wbr>")
    }

    /// Renders a line of Markdown. Of Markdown's inline marks, the contract uses only backticks.
    static func inline(_ markdown: String) -> String {
        let parts = markdown.split(separator: "`", omittingEmptySubsequences: false)
        return parts.enumerated().map { index, part in
            // A backtick without a partner is literal.
            if index.isMultiple(of: 2) || index == parts.count - 1 {
                return (index.isMultiple(of: 2) ? "" : "`") + text(String(part))
            }
            return "<code>\(text(String(part)))</code>"
        }.joined()
    }

    /// Renders paragraphs of Markdown.
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
