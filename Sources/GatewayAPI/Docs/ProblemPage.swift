import ContractModel
import EmbeddedFiles
import HTTPTypes

/// Renders the page at the address that the `type` of a problem names.
struct ProblemPage: Sendable {
    let kind: ProblemKind
    let text: ProblemText
    let model: ContractModel
    /// Whether `/docs` is beside the page, so that the page may link to it.
    let hasDocs: Bool

    /// Renders the pages of this program, by the last segment of their address.
    ///
    /// - Parameter hasDocs: Whether `/docs` is beside the pages.
    static func all(hasDocs: Bool) -> [String: [UInt8]] {
        let texts = ProblemText.all(in: String(decoding: EmbeddedFile.problems.bytes, as: UTF8.self))
        guard let model = try? ContractModel.embedded() else {
            preconditionFailure("The program's own contract can be read.")
        }
        return Dictionary(
            uniqueKeysWithValues: ProblemKind.allCases.map { kind in
                guard let text = texts[kind.type] else {
                    preconditionFailure("problems.md has a section for \(kind.type).")
                }
                let page = ProblemPage(kind: kind, text: text, model: model, hasDocs: hasDocs)
                return (kind.rawValue, Array(page.html.utf8))
            })
    }

    /// The whole document.
    var html: String {
        let code = kind == .notFound ? "" : "<code>\(HTML.text(kind.code))</code> "
        let remedy = text.remedy.map { "<h2 id=\"remedy\">What to do</h2>\n\(HTML.markdown($0))" } ?? ""
        return HTML.document(
            title: "\(kind.title): Sluice",
            """
            <main class="single">
            \(hasDocs ? "<p><a href=\"/docs#problems\">All problems</a></p>" : "")
            <h1>\(HTML.text(kind.title))</h1>
            <p><b class="status">\(kind.status.code)</b> \(code)<code>\(HTML.text(kind.type))</code></p>
            <h2 id="meaning">What it means</h2>
            \(HTML.markdown(meaning))
            \(remedy)
            <h2 id="callers">Who gets it</h2>
            \(callers)
            \(example)
            </main>
            """)
    }

    /// The text without the status and the code, which the page has above.
    private var meaning: String {
        let lead = "\(kind.status.code) `\(kind.code)`. "
        return text.meaning.hasPrefix(lead) ? String(text.meaning.dropFirst(lead.count)) : text.meaning
    }

    private var operations: [ContractModel.Operation] {
        model.operations.filter { operation in operation.responses.contains { !examples(in: $0).isEmpty } }
    }

    private func examples(in response: ContractModel.Response) -> [ContractValue] {
        response.content.flatMap(\.examples).map(\.value).filter { $0["type"]?.text == kind.type }
    }

    private var callers: String {
        let operations = operations
        let links = operations.map { operation in
            let summary = HTML.text(operation.summary)
            let name = hasDocs ? "<a href=\"/docs#\(HTML.text(operation.id))\">\(summary)</a>" : summary
            return "<li>\(name) <code>\(operation.method) \(HTML.path(operation.path))</code></li>"
        }
        guard !links.isEmpty else { return "<p>Callers of paths that no operation has.</p>" }
        let list = "<ul>\n\(links.joined(separator: "\n"))\n</ul>"
        guard links.count > 12 else { return "<p>Callers of these operations:</p>\n\(list)" }
        return "<details><summary>Callers of \(links.count) operations</summary>\n\(list)</details>"
    }

    private var example: String {
        let found = operations.lazy.flatMap(\.responses).compactMap { examples(in: $0).first }.first
        guard let found else { return "" }
        return "<h2 id=\"example\">Example</h2>\n<pre><code>\(HTML.text(found.json(isIndented: true)))</code></pre>"
    }
}
