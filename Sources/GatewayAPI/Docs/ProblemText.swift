/// What `openapi/problems.md` says about a kind of problem.
struct ProblemText: Sendable, Equatable {
    /// Status and code, and what happened, in Markdown.
    var meaning: String
    /// What to do about it, in Markdown; `nil` if the document does not say.
    var remedy: String?

    private static let remedyMark = "What to do: "

    /// Takes the document apart.
    ///
    /// - Parameter markdown: A document with one section for each kind, headed by its `type` in backticks.
    /// - Returns: The texts by `type`, such as `/problems/access-denied`.
    static func all(in markdown: String) -> [String: ProblemText] {
        var texts: [String: ProblemText] = [:]
        for section in "\n\(markdown)".split(separator: "\n## `").dropFirst() {
            guard let end = section.firstIndex(of: "`") else { continue }
            let body = String(section[section.index(after: end)...])
            let paragraphs = HTML.paragraphs(body)
            let remedies = paragraphs.filter { $0.hasPrefix(remedyMark) }
            texts[String(section[..<end])] = ProblemText(
                meaning: paragraphs.filter { !$0.hasPrefix(remedyMark) }.joined(separator: "\n\n"),
                remedy: remedies.first.map { String($0.dropFirst(remedyMark.count)) })
        }
        return texts
    }
}
