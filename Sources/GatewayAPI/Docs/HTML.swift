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

    /// Renders paragraphs and lists of Markdown.
    static func markdown(_ markdown: String) -> String {
        blocks(of: markdown).map(block).joined(separator: "\n")
    }

    /// Renders Markdown for a cell of a table, in which a single paragraph needs no element of its own.
    static func cell(_ markdown: String) -> String {
        let blocks = blocks(of: markdown)
        guard let only = blocks.first, blocks.count == 1, !only.contains(where: isItem) else {
            return self.markdown(markdown)
        }
        return inline(only.joined(separator: " "))
    }

    /// Splits Markdown into its paragraphs, each of them one line.
    static func paragraphs(_ markdown: String) -> [String] {
        blocks(of: markdown).map { $0.joined(separator: " ") }
    }

    /// Renders lines without an empty one between them: a paragraph, a list, or one after the other.
    private static func block(_ lines: [Substring]) -> String {
        let start = lines.firstIndex(where: isItem) ?? lines.endIndex
        var items: [String] = []
        for line in lines[start...] {
            if isItem(line) {
                items.append(String(line.dropFirst(2)))
            } else {
                items[items.count - 1] += " " + line.drop(while: \.isWhitespace)
            }
        }
        let lead = start > 0 ? "<p>\(inline(lines[..<start].joined(separator: " ")))</p>" : ""
        guard !items.isEmpty else { return lead }
        return lead + "<ul>" + items.map { "<li>\(inline($0))</li>" }.joined() + "</ul>"
    }

    private static func isItem(_ line: Substring) -> Bool { line.utf8.starts(with: "- ".utf8) }

    /// Splits Markdown at its empty lines.
    private static func blocks(of markdown: String) -> [[Substring]] {
        var blocks: [[Substring]] = [[]]
        for line in markdown.split(separator: "\n", omittingEmptySubsequences: false) {
            if line.allSatisfy(\.isWhitespace) {
                blocks.append([])
            } else {
                blocks[blocks.count - 1].append(line)
            }
        }
        return blocks.filter { !$0.isEmpty }
    }
}
