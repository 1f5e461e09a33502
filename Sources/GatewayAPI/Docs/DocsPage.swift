import ContractModel
import LibCrypto

/// Renders the contract as a page for people: one document, which can be read without its script and without external
/// resources. The script, `openapi/docs.js`, adds a search and requests with the reader's own key.
struct DocsPage: Sendable {
    let model: ContractModel
    /// Whether the operations for apps are at the address of the page, so that they can be called from it.
    let servesApps: Bool

    /// The `Content-Security-Policy` of the pages: it allows their own style, and a script that sends requests to the
    /// gateway.
    static let securityPolicy: String = {
        let digest = DigestAlgorithm.sha256.digest(of: DocsStyle.css).base64
        return
            "default-src 'none'; script-src 'self'; connect-src 'self'; style-src 'sha256-\(digest)'; base-uri 'none'; "
            + "form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
    }()

    /// Renders the page for the contract built into the program.
    static func bytes(servesApps: Bool) -> [UInt8] {
        guard let model = try? ContractModel.embedded() else {
            preconditionFailure("The program's own contract can be read.")
        }
        return Array(DocsPage(model: model, servesApps: servesApps).html.utf8)
    }

    /// The whole document.
    var html: String {
        let info = model.root["info"] ?? .null
        let title = info["title"]?.text ?? ""
        return HTML.document(
            title: "\(title) API", script: "/docs/docs.js",
            """
            <nav aria-label="Operations">
            <p id="search" hidden><label>Search <input type="search" autocomplete="off" spellcheck="false"></label> \
            <span role="status"></span></p>
            <details class="menu" open><summary>Operations</summary>
            \(navigation)
            </details>
            </nav>
            <main>
            <h1>\(HTML.text(title)) API <small>\(HTML.text(info["version"]?.text ?? ""))</small></h1>
            \(HTML.markdown(info["description"]?.text ?? ""))
            <p>This page is made from <a href="/openapi.yaml"><code>/openapi.yaml</code></a>, OpenAPI 3.1.</p>
            <p id="key" hidden><label>API key or token, for requests from this page <input type="password" \
            autocomplete="off"></label> The page keeps it in memory only. <span id="demo" hidden>With \
            <code>sluice dev</code>: bucket <code>demo</code>, keys below <code>users/alice/</code>.</span></p>
            \(guide)
            \(sections)
            \(problemSection)
            \(schemaSection)
            </main>
            """)
    }

    private var tags: [(name: String, description: String)] {
        (model.root["tags"]?.items ?? []).map { ($0["name"]?.text ?? "", $0["description"]?.text ?? "") }
    }

    private func operations(of tag: String) -> [ContractModel.Operation] {
        model.operations.filter { $0.tag == tag }
    }

    private var navigation: String {
        let groups = tags.map { tag in
            let links = operations(of: tag.name).map { operation in
                """
                <li><a href="#\(HTML.text(operation.id))"><b class="\(operation.method.lowercased())">\(operation.method)</b> \
                \(HTML.path(operation.path))</a></li>
                """
            }
            return "<h2>\(HTML.text(tag.name))</h2>\n<ul>\n\(links.joined(separator: "\n"))\n</ul>"
        }
        let links = DocsGuide.sections.map { "<li><a href=\"#\($0.id)\">\(HTML.text($0.title))</a></li>" }
        return "<h2>guide</h2>\n<ul>\n\(links.joined(separator: "\n"))\n</ul>\n" + groups.joined(separator: "\n")
            + "\n<h2>more</h2>\n<ul>\n<li><a href=\"#problems\">Problems</a></li>\n<li><a href=\"#schemas\">Schemas</a></li>\n</ul>"
    }

    private var guide: String {
        DocsGuide.sections.map { section in
            """
            <section><h2 id="\(section.id)"><a href="#\(section.id)">\(HTML.text(section.title))</a></h2>
            \(HTML.markdown(section.text))</section>
            """
        }.joined(separator: "\n")
    }

    private var sections: String {
        tags.map { tag in
            let articles = operations(of: tag.name).map(article).joined(separator: "\n")
            return """
                <section>
                <h2 id="tag-\(HTML.text(tag.name))"><a href="#tag-\(HTML.text(tag.name))">\(HTML.text(tag.name))</a></h2>
                \(HTML.markdown(tag.description))
                \(articles)
                </section>
                """
        }.joined(separator: "\n")
    }

    private func article(_ operation: ContractModel.Operation) -> String {
        """
        <article id="\(HTML.text(operation.id))">
        <h3><a href="#\(HTML.text(operation.id))">\(HTML.text(operation.summary))</a></h3>
        <p class="target"><b class="\(operation.method.lowercased())">\(operation.method)</b> <code>\(HTML.path(operation.path))</code> \
        <span class="access">\(Self.callers(of: operation))</span></p>
        \(HTML.markdown(operation.description))
        \(parameters(operation))
        \(request(operation))
        \(answers(operation))
        \(samples(operation))
        </article>
        """
    }

    /// How to call the operation in four languages. The script adds a form that calls it from here.
    private func samples(_ operation: ContractModel.Operation) -> String {
        let samples = CallSample(operation).all.map { sample in
            """
            <details><summary>\(sample.language)</summary><pre><code>\(HTML.text(sample.text))</code></pre></details>
            """
        }
        let headers = operation.parameters.filter { $0.place == "header" }.map(\.name).joined(separator: " ")
        let isHere = servesApps || !operation.isForApps
        let target =
            isHere
            ? """
             data-method="\(operation.method)" data-path="\(HTML.text(operation.path))" data-headers="\(HTML.text(headers))"
            """ : ""
        return """
            <div class="samples"\(target)>\
            <h4>Call it</h4>\(isHere ? "" : "<p>At the address for apps, which has a listener of its own.</p>")\
            \(samples.joined(separator: "\n"))</div>
            """
    }

    /// Says who may call an operation.
    static func callers(of operation: ContractModel.Operation) -> String {
        let callers =
            switch operation.access {
            case "public": "without a credential"
            case "user": "for app users"
            case "user-or-ticket": "for app users, or on a ticket"
            case "ticket": "for holders of the ticket in the path"
            case "web-identity": "for app users, with the token of an issuer in the body"
            case "auditor": "for auditors and admins"
            case "admin": "for admins"
            case "store": "for stores, with the secret of the bucket"
            default: HTML.text(operation.access)
            }
        return operation.isDelegated ? callers + ", also with limited roles" : callers
    }

    private func parameters(_ operation: ContractModel.Operation) -> String {
        guard !operation.parameters.isEmpty else { return "" }
        let rows = operation.parameters.map { parameter in
            """
            <tr><th scope="row"><code>\(HTML.text(parameter.name))</code>\(parameter.isRequired ? " <em>required</em>" : "")</th>\
            <td>\(HTML.text(parameter.place))</td><td>\(schemaLine(parameter.schema))</td>\
            <td>\(HTML.inline(parameter.description))</td></tr>
            """
        }
        return """
            <h4>Parameters</h4>
            <div class="wide"><table><thead><tr><th>name</th><th>in</th><th>value</th><th>meaning</th></tr></thead>
            <tbody>\(rows.joined(separator: "\n"))</tbody></table></div>
            """
    }

    private func request(_ operation: ContractModel.Operation) -> String {
        guard !operation.request.isEmpty else { return "" }
        let bodies = operation.request.map(content).joined(separator: "\n")
        return "<div data-request><h4>Body</h4>\n\(bodies)</div>"
    }

    private func answers(_ operation: ContractModel.Operation) -> String {
        let problems = operation.responses.filter { ($0.content.first?.type ?? "") == "application/problem+json" }
        let others = operation.responses.filter { ($0.content.first?.type ?? "") != "application/problem+json" }
        let answers = others.map { response in
            let headers = response.headers.map {
                "<li><code>\(HTML.text($0.name))</code> \(HTML.inline($0.description))</li>"
            }
            return """
                <div class="answer"><p><b class="status">\(HTML.text(response.status))</b> \(HTML.inline(response.description))</p>
                \(response.content.map(content).joined(separator: "\n"))
                <details><summary>Header fields</summary><ul>\(headers.joined())</ul></details></div>
                """
        }
        let links = problems.map { "<a href=\"#problem-\(HTML.text($0.status))\">\(HTML.text($0.status))</a>" }
        return "<h4>Answers</h4>\n\(answers.joined(separator: "\n"))\n"
            + (links.isEmpty ? "" : "<p class=\"problems\">Problems: \(links.joined(separator: " "))</p>")
    }

    private func content(_ content: ContractModel.Content) -> String {
        // Each value of this type is a line.
        let isIndented = content.type != "application/x-ndjson"
        let examples = content.examples.map { example in
            """
            <details><summary>Example: \(HTML.text(example.name))</summary>\
            <pre><code>\(HTML.text(content.body(example.value, isIndented: isIndented)))</code></pre></details>
            """
        }
        return """
            <div class="content"><p><code>\(HTML.text(content.type))</code> \(schemaLine(content.schema))</p>
            \(content.schema["$ref"] == nil ? schemaTable(content.schema) : "")
            \(examples.joined(separator: "\n"))</div>
            """
    }

    private var problemSection: String {
        let responses = (model.root["components"]?["responses"]?.members ?? []).map(\.value)
        var byStatus: [(status: Int, html: String)] = []
        for response in responses {
            let examples = response["content"]?["application/problem+json"]?["examples"]?.members ?? []
            for example in examples {
                guard let value = example.value["value"], let status = value["status"]?.integer else { continue }
                let html = """
                    <div class="answer"><p><b class="status">\(status)</b> <code>\(HTML.text(value["code"]?.text ?? ""))</code> \
                    \(HTML.inline(response["description"]?.text ?? ""))</p>
                    <p><a href="\(HTML.text(value["type"]?.text ?? ""))"><code>\(HTML.text(value["type"]?.text ?? ""))</code></a></p>
                    <details><summary>Example</summary>\
                    <pre><code>\(HTML.text(value.json(isIndented: true)))</code></pre></details></div>
                    """
                byStatus.append((status, html))
            }
        }
        var seen: Set<Int> = []
        let parts = byStatus.sorted { $0.status < $1.status }.map { status, html in
            (seen.insert(status).inserted ? "<a id=\"problem-\(status)\"></a>" : "") + html
        }
        return """
            <section><h2 id="problems"><a href="#problems">Problems</a></h2>
            <p>Every error is a document of RFC 9457 with a stable <code>code</code>.</p>
            \(parts.joined(separator: "\n"))</section>
            """
    }
}
