import ContractTesting
import Foundation
import HTTPServing
import HTTPTypes
import Testing

@testable import GatewayAPI

@Suite("The pages of problems")
struct ProblemPageTests {
    @Test(arguments: ProblemKind.allCases)
    func `each type is the address of a page that says what to do`(_ kind: ProblemKind) async throws {
        let answer = await TestGateway().send(.get, kind.type)
        try #require(answer.status == 200)
        #expect(answer.headers[.contentType] == "text/html; charset=utf-8")
        #expect(answer.headers[.contentSecurityPolicy] == DocsPage.securityPolicy)
        let page = answer.text
        #expect(page.contains("<h1>\(HTML.text(kind.title))</h1>"))
        #expect(page.contains("<b class=\"status\">\(kind.status.code)</b>"))
        #expect(page.contains("<code>\(kind.type)</code>"))
        #expect(kind == .notFound || page.contains("<code>\(kind.code)</code>"))
        for heading in ["What it means", "What to do", "Who gets it"] { #expect(page.contains(">\(heading)</h2>")) }
        #expect(!page.contains("<script") && !page.contains("style="))
    }

    @Test func `the list of problems has a meaning and a remedy for each kind, and for no other`() throws {
        let file = ContractDocument.repository.appending(path: "openapi/problems.md")
        let texts = ProblemText.all(in: try String(contentsOf: file, encoding: .utf8))
        #expect(texts.keys.sorted() == ProblemKind.allCases.map(\.type).sorted())
        for (type, text) in texts { #expect(!text.meaning.isEmpty && text.remedy?.isEmpty == false, "\(type)") }
    }

    @Test func `a page names the operations that answer with the problem`() async {
        let page = await TestGateway().send(.get, "/problems/not-enforceable").text
        #expect(page.contains("href=\"/docs#issuePresignedURL\"") && !page.contains("href=\"/docs#showHealth\""))
    }

    @Test func `every listener has the pages, because a type is relative to the request`() async {
        #expect(await TestGateway(on: .app).send(.get, "/problems/access-denied").status == 200)
        #expect(await TestGateway(on: .inner).send(.get, "/problems/access-denied").status == 200)
    }

    @Test(arguments: ProblemKind.allCases)
    func `a listener without the documentation links to none`(_ kind: ProblemKind) async throws {
        let alone = TestGateway(on: .app)
        try #require(await alone.send(.get, "/docs").status == 404)
        let page = await alone.send(.get, kind.type).text
        #expect(!page.contains("href="))
        let whole = await TestGateway(on: .inner).send(.get, kind.type).text
        #expect(whole.contains("href=\"/docs#problems\""))
        let words = whole.replacing(/<p><a [^>]*>All problems<\/a><\/p>|<a [^>]*>|<\/a>/, with: "")
        #expect(words == page)
    }

    @Test func `a kind that does not exist has no page`() async {
        let answer = await TestGateway().send(.get, "/problems/no-such-kind")
        #expect(answer.status == 404 && answer.string("code") == "NoSuchRoute")
    }
}
