import ContractModel
import ContractTesting
import Foundation
import HTTPServing
import HTTPTypes
import LibCrypto
import Testing

@testable import GatewayAPI

@Suite("GET /docs") struct DocsTests {
    private func page() async throws -> String {
        let answer = await TestGateway().send(.get, "/docs")
        try #require(answer.status == 200)
        #expect(answer.headers[.contentType] == "text/html; charset=utf-8")
        return answer.text
    }

    @Test("shows every operation, schema, code and example of the contract")
    func complete() async throws {
        let page = try await page()
        let contract = try ContractDocument.shared.get()
        for operation in contract.operations {
            let id = try #require(operation.body.operationId?.text)
            #expect(page.contains("<article id=\"\(id)\">") && page.contains("href=\"#\(id)\""), "\(id)")
            #expect(page.contains(HTML.text(operation.body.summary?.text ?? "-")), "\(id)")
        }
        for name in (contract.root.components?.schemas?.members ?? [:]).keys {
            #expect(page.contains("<article id=\"schema-\(name)\">"), "\(name)")
        }
        // The schema of problems has the types too.
        for kind in ProblemKind.allCases {
            #expect(page.contains("<a href=\"\(kind.type)\"><code>\(kind.type)</code></a>"), "\(kind)")
        }
    }

    @Test("says of each operation who may call it, and whether limited roles are enough")
    func callers() async throws {
        let page = try await page()
        let contract = try ContractDocument.shared.get()
        for operation in contract.operations {
            let id = try #require(operation.body.operationId?.text)
            let article = try #require(page.firstRange(of: "<article id=\"\(id)\">"))
            let found = page[article.upperBound...].firstMatch(of: /<span class="access">([^<]*)<\/span>/)
            let callers = try #require(found).output.1
            let isForAdmins = operation.body["x-sluice-access"]?.text == "admin"
            #expect(callers.hasPrefix("for admins") == isForAdmins, "\(id)")
            #expect(callers.contains(" "), "\(id): a value that the page has no words for")
            let isDelegated = operation.body["x-sluice-delegated"]?.flag == true
            #expect(callers.hasSuffix(", also with limited roles") == isDelegated, "\(id)")
        }
    }

    @Test("shows for each operation how to call it, with the contract's own example")
    func samples() async throws {
        let page = try await page()
        let contract = try ContractDocument.shared.get()
        let samples = page.components(separatedBy: "<div class=\"samples\"").dropFirst()
        #expect(samples.count == contract.operations.count)
        for sample in samples {
            for language in ["curl", "JavaScript", "Python", "Swift"] {
                #expect(sample.contains("<summary>\(language)</summary>"))
            }
        }
        let model = try ContractModel.embedded()
        let operation = try #require(model.operations.first { $0.id == "patchGrant" })
        let texts = CallSample(operation).all
        #expect(texts.map(\.language) == ["curl", "JavaScript", "Python", "Swift"])
        for (language, text) in texts {
            #expect(text.contains("/admin/v1/grants/0198c5a1-7a3b-7c11-9f6e-3f1d2c4b5a69"), "\(language)")
            #expect(text.contains("application/merge-patch+json") && text.contains("PATCH"), "\(language)")
            #expect(text.lowercased().contains("if-match"), "\(language)")
        }
        let example = try #require(operation.request.first?.examples.first?.value.json())
        #expect(texts[0].text.contains("-d '\(example)'"))
    }

    @Test("offers to call from the page what is beside it, on each listener")
    func listeners() async throws {
        let contract = try ContractDocument.shared.get()
        for listener in [APIListener.everything, .inner] {
            let gateway = TestGateway(on: listener)
            let articles = await gateway.send(.get, "/docs").text.components(separatedBy: "<article id=\"")
            for operation in contract.operations {
                let id = try #require(operation.body.operationId?.text)
                let article = try #require(articles.first { $0.hasPrefix(id + "\"") })
                let method = try #require(HTTPRequest.Method(rawValue: operation.method.uppercased()))
                let target = operation.path.replacing(/{[^}]*}/, with: "x")
                let isHere = gateway.responder.router.match(method, target).route != nil
                #expect(article.contains(" data-path=\"") == isHere, "\(listener) \(id)")
                #expect(article.contains("At the address for apps") != isHere, "\(listener) \(id)")
            }
        }
    }

    @Test("shows how a form is sent, and which secret a store sends")
    func formsAndSecrets() throws {
        let model = try ContractModel.embedded()
        func samples(_ id: String) throws -> [String: String] {
            let operation = try #require(model.operations.first { $0.id == id })
            return Dictionary(uniqueKeysWithValues: CallSample(operation).all.map { ($0.language, $0.text) })
        }
        let forms = try samples("assumeRoleWithWebIdentity")
        for (language, text) in forms {
            #expect(
                text.contains("Action=AssumeRoleWithWebIdentity&Version=2011-06-15&RoleArn=arn%3Aaws%3Aiam"),
                "\(language)")
            #expect(text.contains("application/x-www-form-urlencoded"), "\(language)")
        }
        #expect(forms["JavaScript"]?.contains("body: \"Action=") == true)
        #expect(try samples("takeS3Events")["curl"]?.contains("$SLUICE_EVENT_SECRET") == true)
        #expect(try samples("batchGitLFSObjects")["curl"]?.contains("/lfs/photos/objects/batch") == true)
    }

    /// The examples of the contract name another bucket than the demo has.
    @Test("says what the demo of 'sluice dev' permits, and leaves it to the script whether to show it")
    func demo() async throws {
        let page = try await page()
        let line = "<code>sluice dev</code>: bucket <code>demo</code>, keys below <code>users/alice/</code>."
        #expect(page.contains("<span id=\"demo\" hidden>With \(line)</span></p>"))
    }

    @Test("shows the contract's lists as lists")
    func lists() async throws {
        #expect(
            HTML.markdown("a\nb:\n- c\n  d\n- `e`\n\nf")
                == "<p>a b:</p><ul><li>c d</li><li><code>e</code></li></ul>\n<p>f</p>")
        #expect(HTML.markdown("- a") == "<ul><li>a</li></ul>" && HTML.markdown("").isEmpty)
        #expect(
            HTML.cell("a\nb - c") == "a b - c" && HTML.cell("- a") == "<ul><li>a</li></ul>" && HTML.cell("").isEmpty)
        let page = try await page()
        // In the description of an operation, and in that of a member.
        #expect(page.contains("<li><code>principal</code>, with or without <code>bucket</code>: "))
        #expect(page.contains("<li><code>noCredential</code>: "))
    }

    @Test("has sections that say what holds for all operations")
    func guide() async throws {
        let page = try await page()
        for id in ["authentication", "errors", "pagination", "idempotency", "problems", "schemas"] {
            #expect(page.contains("<h2 id=\"\(id)\">"), "\(id)")
        }
    }

    @Test("leads nowhere but to itself, to the contract and to the pages of problems")
    func links() async throws {
        let page = try await page()
        let ids = page.matches(of: /\sid="([^"]*)"/).map { String($0.output.1) }
        #expect(Set(ids).count == ids.count)
        let others = Set(ProblemKind.allCases.map(\.type)).union(["/openapi.yaml"])
        for link in page.matches(of: /href="([^"]*)"/).map({ String($0.output.1) }) where !others.contains(link) {
            #expect(link.hasPrefix("#") && ids.contains(String(link.dropFirst())), "\(link)")
        }
        let script = "<script type=\"module\" src=\"/docs/docs.js\"></script>"
        #expect(page.contains(script))
        let rest = page.replacing(script, with: "")
        for foreign in [
            "<script", "<link", "<img", "<iframe", "src=", "@import", "url(", "javascript:", "style=", "onclick",
        ] {
            #expect(!rest.contains(foreign), "\(foreign)")
        }
    }

    @Test("may run its own script and nothing else, and its own style is the only one")
    func policy() async throws {
        let answer = await TestGateway().send(.get, "/docs")
        let style = try #require(answer.text.firstMatch(of: /(?s)<style>(.*?)<\/style>/)).output.1
        let digest = DigestAlgorithm.sha256.digest(of: Array(style.utf8)).base64
        #expect(
            answer.headers[.contentSecurityPolicy]
                == "default-src 'none'; script-src 'self'; connect-src 'self'; style-src 'sha256-\(digest)'; "
                + "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; "
                + "trusted-types 'none'")
        let script = await TestGateway().send(.get, "/docs/docs.js")
        #expect(script.status == 200 && script.headers[.contentType] == "text/javascript; charset=utf-8")
        let file = try Data(contentsOf: ContractDocument.repository.appending(path: "openapi/docs.js"))
        #expect(script.bytes == Array(file))
        #expect(answer.headers[.xContentTypeOptions] == "nosniff")
        #expect(answer.text.matches(of: /<style>/).count == 1)
    }

    @Test("closes every element that it opens, in order")
    func wellFormed() async throws {
        var open: [Substring] = []
        for tag in try await page().matches(of: /<(\/?)([a-z0-9]+)[^>]*>/) {
            let (slash, name) = (tag.output.1, tag.output.2)
            if ["meta", "wbr", "input"].contains(name) { continue }
            if slash.isEmpty { open.append(name) } else { #expect(open.popLast() == name) }
        }
        #expect(open.isEmpty)
    }

    @Test("writes what a contract says, and lets none of it be read as HTML")
    func escaping() throws {
        let yaml = """
            info: { title: "<b>&", version: "1", description: "a `<i>` b ` c" }
            tags: [{ name: app, description: "<u>" }]
            paths:
              /a/{b}:
                get: { operationId: x, tags: [app], summary: "<s>", x-sluice-access: user, parameters: [{ name: "<p>", in: query,
                  description: "'\\"<q>", schema: { type: string, pattern: "^<&>$", default: "<d>" } }], responses: {} }
            """
        let html = DocsPage(model: try ContractModel(yaml: yaml), servesApps: true).html
        for text in ["<b>&", "<i>", "<u>", "<s>", "<p>\"", "<q>", "<d>", "^<&>$"] {
            #expect(!html.contains(">" + text))
        }
        #expect(html.contains("a <code>&lt;i&gt;</code> b ` c"))
        #expect(html.contains("&#39;&quot;&lt;q&gt;"))
    }
}
