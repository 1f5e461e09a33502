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

    /// Renders a document with the pages' style.
    ///
    /// - Parameters:
    ///   - title: The title, as text.
    ///   - script: The address of a module to run, if there is one.
    ///   - body: The content of `body`, as HTML.
    static func document(title: String, script: String? = nil, _ body: String) -> String {
        """
        <!doctype html>
        <html lang="en">
        <head>
        <meta charset="utf-8">
        <meta name="viewport" content="width=device-width, initial-scale=1">
        <title>\(text(title))</title>
        <style>\(DocsStyle.css)</style>
        \(script.map { "<script type=\"module\" src=\"\($0)\"></script>" } ?? "")
        </head>
        <body>
        \(body)
        </body>
        </html>

        """
    }

    /// Renders paragraphs of Markdown.
    static func markdown(_ markdown: String) -> String {
        paragraphs(markdown).map { "<p>\(inline($0))</p>" }.joined(separator: "\n")
    }

    /// Splits Markdown into its paragraphs, each of them one line.
    static func paragraphs(_ markdown: String) -> [String] {
        var paragraphs: [[Substring]] = [[]]
        for line in markdown.split(separator: "\n", omittingEmptySubsequences: false) {
            if line.allSatisfy(\.isWhitespace) {
                paragraphs.append([])
            } else {
                paragraphs[paragraphs.count - 1].append(line)
            }
        }
        return paragraphs.filter { !$0.isEmpty }.map { $0.joined(separator: " ") }
    }
}
