import ContractTesting
import EmbeddedFiles
import Foundation
import GatewayCore
import HTTPServing
import HTTPTypes
import InMemoryLogging
import LibZ
import Logging
import Synchronization
import TestSupport
import Testing

@testable import GatewayAPI

/// The files of the console, and what its page knows before anybody has signed in.
@Suite struct ConsoleTests {
    private static let folder = ContractDocument.repository.appending(path: "console")
    /// Files that Debian's packages add.
    private static let vendored: Set = ["vendor/chart.js"]
    private static let discovery = "https://id.example/.well-known/openid-configuration"
    private static let document = """
        {"issuer":"https://id.example","authorization_endpoint":"https://id.example/auth",\
        "token_endpoint":"https://token.id.example:8443/token?x=1","authorization_response_iss_parameter_supported":true}
        """

    /// An answer that is not compared with the contract, which describes no compressed bodies.
    private func raw(
        _ gateway: TestGateway, _ path: String, _ headers: HeaderFields, method: HTTPRequest.Method = .get
    ) async -> TestAnswer {
        let head = RequestHead(method: method, target: path, headerFields: headers)
        return await TestAnswer(collecting: gateway.responder.respond(to: ServerRequest(head: head)))
    }

    // MARK: Files

    @Test func `every file of the console is embedded as it stands, and nothing else`() throws {
        let files = FileManager.default.enumerator(at: Self.folder, includingPropertiesForKeys: [.isRegularFileKey])
        var found: [String: [UInt8]] = [:]
        let start = Self.folder.path(percentEncoded: false) + "/"
        while let file = files?.nextObject() as? URL {
            guard try file.resourceValues(forKeys: [.isRegularFileKey]).isRegularFile == true else { continue }
            let path = file.path(percentEncoded: false)
            found[String(path.dropFirst(start.count))] = Array(try Data(contentsOf: file))
        }
        let embedded = Dictionary(uniqueKeysWithValues: EmbeddedFile.console.map { ($0.name, $0.bytes) })
        #expect(Set(found.keys).union(Self.vendored) == Set(embedded.keys), "list them in CEmbeddedFiles/console.c")
        for (name, bytes) in found { #expect(embedded[name] == bytes, "\(name): build again") }
        #expect(EmbeddedFile.console.map(\.name) == embedded.keys.sorted())
        let chart = try #require(embedded["vendor/chart.js"])
        #expect(String(decoding: chart.prefix(200), as: UTF8.self).contains("Released under the MIT License"))
    }

    /// The strings of a list in a file of the repository.
    private func names(_ list: Regex<(Substring, Substring)>, in path: String) throws -> [String] {
        let text = try String(contentsOf: ContractDocument.repository.appending(path: path), encoding: .utf8)
        let found = try #require(text.firstMatch(of: list)?.output.1, "\(path)")
        return found.matches(of: #/"([^"]+)"/#).map { String($0.output.1) }
    }

    @Test func `the rules for browsers at S3 and OSS expose what the documents say pages read`() throws {
        let documented = try names(#/"ExposeHeaders": \[([^\]]*)\]/#, in: "docs/stores.md")
        // Uppy looks for the address of a form's object in `Location`.
        #expect(Set(["ETag", "Content-Encoding", "Location"]).isSubset(of: documented))
        for list in [#/const headers = \[([^\]]*)\]/#, #/const ossHeaders = \[([^\]]*)\]/#] {
            let shown = try names(list, in: "console/views/cors.js")
            #expect(Set(documented).isSubset(of: shown))
        }
    }

    @Test func `the rule for Google's browsers is that of the documents, and names each header`() throws {
        let shown = try names(#/const googleHeaders = \[([^\]]*)\]/#, in: "console/views/cors.js")
        let documented = try names(#/"responseHeader": \[([^\]]*)\]/#, in: "docs/stores.md")
        #expect(shown + ["x-goog-meta-NAME"] == documented && !shown.contains("*"))
        #expect(Set(["Content-Type", "Content-MD5", "ETag"]).isSubset(of: shown))
    }

    @Test func `the audit is filtered by the kinds of rows that it has`() throws {
        func found(_ pattern: Regex<(Substring, Substring)>, in file: String) throws -> Substring {
            let text = try String(contentsOf: Self.folder.appending(path: "views/" + file), encoding: .utf8)
            return try #require(text.firstMatch(of: pattern)?.output.1, "\(file)")
        }
        let shown = try found(#/export const kinds = \{(.*?)\n\};/#.dotMatchesNewlines(), in: "changes.js")
        let others = try found(#/\[\.\.\.Object\.keys\(kinds\), ([^\]]*)\]/#, in: "audit.js")
        let kinds = shown.matches(of: #/\n  (\w+): \{/#) + others.matches(of: #/"(\w+)"/#)
        // No admin changes an issuance.
        let rows = ResourceKind.allCases.filter { $0 != .issuance }
        #expect(kinds.map { String($0.output.1) }.sorted() == rows.map(\.rawValue).sorted())
    }

    @Test func `all views and the contract are at most 320 KiB compressed`() async throws {
        let contract = await TestGateway().send(.get, "/openapi.json")
        try #require(contract.status == 200)
        let files = EmbeddedFile.console.map(\.bytes) + [contract.bytes]
        #expect(files.reduce(0) { $0 + Gzip.compressed($1).count } <= 320 << 10)
    }

    @Test func `every file is served with its type, for a browser that guesses nothing`() async throws {
        let gateway = TestGateway()
        let types = [
            "html": "text/html; charset=utf-8", "css": "text/css; charset=utf-8",
            "js": "text/javascript; charset=utf-8", "svg": "image/svg+xml",
        ]
        for file in EmbeddedFile.console {
            let answer = await gateway.send(.get, "/console/" + file.name)
            #expect(answer.status == 200 && answer.bytes == file.bytes, "\(file.name)")
            #expect(answer.headers[.contentType] == types[String(file.name.split(separator: ".").last ?? "")])
            #expect(answer.headers[.xContentTypeOptions] == "nosniff")
            #expect(answer.headers[.referrerPolicy] == "no-referrer")
            #expect(answer.headers[.crossOriginOpenerPolicy] == "same-origin")
            #expect(answer.headers[.crossOriginResourcePolicy] == "same-origin")
            #expect(answer.headers[.contentSecurityPolicy]?.hasPrefix("default-src 'none'; ") == true)
            #expect(answer.headers[.cacheControl] == "no-cache")
            #expect(answer.headers[.vary] == "Accept-Encoding")
        }
        let page = await gateway.send(.get, "/console/index.html")
        for path in ["/console", "/console/", "/console/?code=c&state=s&iss=https%3A%2F%2Fid.example"] {
            let answer = await gateway.send(.get, path)
            #expect(answer.status == 200 && answer.bytes == page.bytes && answer.headers[.eTag] == page.headers[.eTag])
        }
        for path in [
            "/console/none.js", "/console/views", "/console/views/", "/console/../index.html", "/console//index.html",
            "/console/%2e%2e/index.html", "/console/vendor%2Fchart.js%00", "/console/config.json/x", "/consol",
        ] {
            let answer = await gateway.send(.get, path)
            #expect([400, 404].contains(answer.status), "\(path): \(answer.status)")
        }
        #expect(await gateway.send(.post, "/console/").status == 405)
        #expect(await gateway.send(.head, "/console/style.css").status == 200)
        // App users have a listener of their own where one is configured for admins.
        for path in ["/console", "/console/", "/console/style.css", "/console/config.json", "/openapi.json"] {
            #expect(await TestGateway(on: .app).send(.get, path).status == 404)
            #expect(await TestGateway(on: .inner).send(.get, path).status == 200)
        }
    }

    @Test func `the page names nothing that its policy forbids`() async throws {
        let page = await TestGateway().send(.get, "/console/").text
        for forbidden in [
            "<style", " style=", "javascript:", "<iframe", "<base", "<form action", "http://", "https://",
        ] {
            #expect(!page.contains(forbidden), "\(forbidden)")
        }
        for event in page.matches(of: /\son[a-z]+=/) { Issue.record("an inline handler: \(event.output)") }
        for script in page.matches(of: /<script([^>]*)>(.*?)<\/script>/) {
            #expect(script.output.1.contains("src=\"/console/") && script.output.2.isEmpty)
        }
        let names = Set(EmbeddedFile.console.map { "/console/" + $0.name })
        for link in page.matches(of: /(?:src|href)="([^"#]*)"/).map({ String($0.output.1) }) {
            let others = ["/docs", "/openapi.yaml", "/openapi.json", "/console/config.json"]
            #expect(names.contains(link) || others.contains(link), "\(link)")
        }
    }

    // MARK: Forms of a file

    @Test(
        arguments: [
            (nil, false), ("", false), ("identity", false), ("gzip", true), ("GZIP;q=0.5", true), ("br, gzip", true),
            ("deflate,gzip ; q=1.0", true), ("*", true), ("*;q=0", false), ("gzip;q=0", false),
            ("gzip;q=0.000, *", false),
            ("gzip;q=0.001", true), ("*;q=0, gzip", true), ("x-gzip", true), ("gzipped", false),
        ] as [(String?, Bool)])
    func `a file is compressed for those who accept it`(accepted: String?, isCompressed: Bool) async throws {
        let gateway = TestGateway()
        for path in ["/console/", "/console/vendor/chart.js", "/openapi.json"] {
            let plain = await raw(gateway, path, [:])
            var headers: HeaderFields = [:]
            headers[.acceptEncoding] = accepted
            let answer = await raw(gateway, path, headers)
            #expect(answer.headers[.contentEncoding] == (isCompressed ? "gzip" : nil))
            #expect((answer.bytes == Gzip.compressed(plain.bytes)) == isCompressed)
            #expect((answer.bytes == plain.bytes) == !isCompressed)
            #expect((answer.headers[.eTag] == plain.headers[.eTag]) == !isCompressed, "each form has its own tag")
        }
    }

    @Test func `a client that has the file gets no body, in the form that it has`() async throws {
        let gateway = TestGateway()
        for path in ["/console/", "/console/style.css", "/openapi.json"] {
            for coding in ["gzip", "identity"] {
                let first = await raw(gateway, path, [.acceptEncoding: coding])
                let tag = try #require(first.headers[.eTag])
                for (condition, status) in [
                    (tag, 304), ("W/" + tag, 304), ("\"x\", " + tag, 304), ("*", 304), ("\"x\"", 200),
                    (String(tag.dropFirst().dropLast()), 200),
                ] {
                    for method in [HTTPRequest.Method.get, .head] {
                        let answer = await raw(
                            gateway, path, [.acceptEncoding: coding, .ifNoneMatch: condition], method: method)
                        #expect(answer.status == status, "\(path) \(condition)")
                        guard status == 304 else { continue }
                        // The server sends the length of these bytes only.
                        #expect(answer.bytes == first.bytes && answer.headers[.contentType] == nil)
                        for field in [HTTPField.Name.eTag, .cacheControl, .vary, .contentSecurityPolicy] {
                            #expect(answer.headers[field] == first.headers[field], "\(field)")
                        }
                    }
                }
                let other = coding == "gzip" ? "identity" : "gzip"
                #expect(await raw(gateway, path, [.acceptEncoding: other, .ifNoneMatch: tag]).status == 200)
            }
        }
        let answer = await gateway.send(.get, "/console/style.css", headers: [.ifNoneMatch: "*"])
        #expect(answer.status == 304)
    }

    /// Leaves out the member `examples` wherever it is a keyword of OpenAPI, and not the name of a member of a schema.
    private func withoutExamples(_ node: JSONNode, names: Bool = false) -> JSONNode {
        switch node {
        case .array(let items): .array(items.map { withoutExamples($0) })
        case .object(let members):
            .object(
                Dictionary(
                    uniqueKeysWithValues: members.filter { names || $0.key != "examples" }
                        .map { ($0.key, withoutExamples($0.value, names: !names && $0.key == "properties")) }))
        default: node
        }
    }

    /// The references in a part of the contract, with those to the security schemes that it names.
    private func references(in node: JSONNode) -> Set<String> {
        var found: Set<String> = []
        for item in node.items { found.formUnion(references(in: item)) }
        for (name, value) in node.members {
            if name == "$ref", let text = value.text { found.insert(text) }
            if name == "security" {
                for scheme in value.items.flatMap({ Array($0.members.keys) }) {
                    found.insert("#/components/securitySchemes/\(scheme)")
                }
            }
            found.formUnion(references(in: value))
        }
        return found
    }

    /// The components of a contract by the references to them.
    private func components(of contract: JSONNode) -> [String: JSONNode] {
        var found: [String: JSONNode] = [:]
        for (kind, components) in contract["components"]?.members ?? [:] {
            for (name, component) in components.members { found["#/components/\(kind)/\(name)"] = component }
        }
        return found
    }

    /// The operation with the answers that are no refusals.
    private func withoutRefusals(_ operation: JSONNode) -> JSONNode {
        var members = operation.members
        members["responses"] = .object(
            (operation.responses?.members ?? [:]).filter { !"45".contains($0.key.first ?? "-") })
        return .object(members)
    }

    @Test func `the contract as JSON says what the console needs: no examples, refusals and other protocols`()
        async throws
    {
        let answer = await TestGateway().send(.get, "/openapi.json")
        #expect(answer.status == 200 && answer.headers[.contentType] == "application/json")
        let told = try JSONNode(json: answer.bytes)
        let whole = withoutExamples(try ContractDocument.shared.get().root)
        #expect(Set(told.members.keys) == Set(whole.members.keys))
        for (name, part) in whole.members where !["paths", "components", "tags"].contains(name) {
            #expect(told[name] == part, "\(name)")
        }
        let all = whole["paths"]?.members ?? [:]
        let paths = all.mapValues { path in
            JSONNode.object(path.members.filter { $0.value["x-sluice-protocol"] == nil }.mapValues(withoutRefusals))
        }.filter { !$0.value.members.isEmpty }
        #expect(told["paths"] == JSONNode.object(paths))
        #expect(paths.count > 60 && paths.count < all.count)

        let operations = paths.values.flatMap(\.members.values)
        let used = Set(operations.flatMap { $0["tags"]?.items ?? [] }.compactMap(\.text))
        let tags = whole["tags"]?.items.filter { used.contains($0["name"]?.text ?? "") }
        #expect(told["tags"]?.items == tags)

        // All that is referred to is there, as it stands in the contract, and nothing else.
        let kept = components(of: told)
        #expect(Set(kept.keys) == references(in: told))
        for (name, component) in components(of: whole) {
            #expect(kept[name] == nil || kept[name] == component, "\(name)")
        }
        let named = told["components"]?["schemas"]?.members.filter { $0.value["properties"]?["examples"] != nil }
        #expect(named?.isEmpty == false, "members of this name stay")
    }

    // MARK: Sign-in

    private func issuer(_ console: ConsoleSignIn, name: String = "https://id.example", id: Int = 1) -> Issuer {
        IssuerFixture.issuer(id: id, name: name) { $0.console = console }
    }

    private func make(_ issuer: Issuer, at gateway: TestGateway) async throws {
        _ = try await gateway.stores.issuers.create(issuer, by: ChangeContext(actor: .bootstrapAdmin, requestID: "r"))
    }

    private func offers(_ gateway: TestGateway) async throws -> [[String: Any]] {
        let answer = await gateway.send(.get, "/console/config.json")
        #expect(answer.status == 200 && answer.headers[.cacheControl] == "no-store")
        #expect(answer.string("admin") == "/admin/v1" && answer.string("contract") == "/openapi.json")
        return try #require(answer.json["issuers"] as? [[String: Any]])
    }

    private func connectSources(_ gateway: TestGateway) async throws -> [Substring] {
        let policy = try #require(await gateway.send(.get, "/console/").headers[.contentSecurityPolicy])
        let directive = try #require(policy.split(separator: "; ").first { $0.hasPrefix("connect-src ") })
        return Array(directive.split(separator: " ").dropFirst())
    }

    @Test func `the configuration lists the issuers with sign-in, with endpoints of the row or the document`()
        async throws
    {
        let documents = StubIssuerDocuments([Self.discovery: Self.document])
        let gateway = TestGateway(APISettings(version: "9.8.7"), issuerDocuments: documents)
        try await make(issuer(ConsoleSignIn(clientID: "one", send: .idToken)), at: gateway)
        try await make(
            issuer(
                ConsoleSignIn(
                    clientID: "two", scopes: ["openid", "x"], authorizationEndpoint: "https://b.example/a",
                    tokenEndpoint: "http://localhost:9/t", send: .accessToken), name: "backend", id: 2), at: gateway)
        try await make(IssuerFixture.issuer(id: 3, name: "https://plain.example"), at: gateway)
        let offers = try await offers(gateway)
        #expect(offers.count == 2)
        let one = try #require(offers.first { $0["clientID"] as? String == "one" })
        #expect(one["issuer"] as? String == "https://id.example" && one["send"] as? String == "id_token")
        #expect(one["id"] as? String == "018f0000-0000-7000-8000-000000000001")
        #expect(one["scopes"] as? [String] == ["openid"])
        #expect(one["authorizationEndpoint"] as? String == "https://id.example/auth")
        #expect(one["tokenEndpoint"] as? String == "https://token.id.example:8443/token?x=1")
        #expect(one["namesItself"] as? Bool == true)
        let two = try #require(offers.first { $0["clientID"] as? String == "two" })
        #expect(
            two["authorizationEndpoint"] as? String == "https://b.example/a" && two["send"] as? String == "access_token"
        )
        #expect(two["scopes"] as? [String] == ["openid", "x"] && two["namesItself"] as? Bool == false)
        #expect(await gateway.send(.get, "/console/config.json").string("version") == "9.8.7")
        // Both are read again at most when they are old.
        #expect(documents.urls == [Self.discovery])
        #expect(
            try await Set(connectSources(gateway)) == [
                "'self'", "https://token.id.example:8443", "http://localhost:9",
            ])
    }

    @Test func `without its document an issuer is listed, and nobody is sent anywhere`() async throws {
        for document in [
            nil, "", "[]", Self.document.replacing("\"https://id.example\"", with: "\"https://id.example/\""),
            Self.document.replacing("https://token", with: "http://token"),
            Self.document.replacing("https://id.example/auth", with: "data:text/html,x"),
        ] {
            let documents = StubIssuerDocuments(document.map { [Self.discovery: $0] } ?? [:])
            let gateway = TestGateway(issuerDocuments: documents)
            try await make(issuer(ConsoleSignIn(clientID: "one", send: .idToken)), at: gateway)
            let offer = try #require(try await offers(gateway).first)
            #expect(offer["clientID"] as? String == "one")
            #expect(offer["authorizationEndpoint"] == nil && offer["tokenEndpoint"] == nil, "\(document ?? "-")")
            #expect(try await connectSources(gateway) == ["'self'"])
            #expect(gateway.logLines.contains("no sign-in by the discovery document"))
        }
    }

    @Test func `the page may call issuers and stores, without telling the names of buckets`() async throws {
        let gateway = TestGateway()
        for (name, addressing, endpoint) in [
            ("secret-name", "virtual", "https://s3.eu-west-1.amazonaws.com"),
            ("second", "path", "https://s3.example:9000"),
            ("third", "cname", "https://objects.example"), ("fourth", "virtual", "https://s3.eu-west-1.amazonaws.com"),
        ] {
            try await gateway.makeBucket(name) {
                $0.endpoint = endpoint
                $0.addressing = Bucket.Addressing(rawValue: addressing) ?? .path
            }
        }
        let sources = try await connectSources(gateway)
        #expect(
            Set(sources) == [
                "'self'", "https://*.s3.eu-west-1.amazonaws.com", "https://s3.example:9000", "https://objects.example",
            ])
        #expect(Set(sources).count == sources.count)
    }

    @Test func `a page with a changed policy is another page`() async throws {
        let gateway = TestGateway()
        let before = await gateway.send(.get, "/console/").headers[.eTag]
        let other = TestGateway()
        try await other.makeBucket("photos")
        let after = await other.send(.get, "/console/").headers[.eTag]
        #expect(before != nil && before != after)
        // The policy of other files does not change.
        let styles = (
            await gateway.send(.get, "/console/style.css").headers[.eTag],
            await other.send(.get, "/console/style.css").headers[.eTag]
        )
        #expect(styles.0 == styles.1)
    }

    @Test func `the policy stays short enough for proxies, and issuers come first`() {
        let endpoints = SignInEndpoints(
            authorization: "https://id.example/a", token: "https://id.example/t", namesItselfInAnswers: false)
        let offer = SignInOffers.Offer(
            issuer: SignInIssuer(
                id: UUID(), issuer: "https://id.example", console: ConsoleSignIn(clientID: "c", send: .idToken)),
            endpoints: endpoints)
        let stores = (0..<64).map {
            StoreSite(endpoint: "https://\($0).\(String(repeating: "a", count: 60)).example", hasBucketsAsHosts: false)
        }
        let origins = ConsolePolicy.connectOrigins(offers: [offer], stores: stores)
        #expect(origins.first == "https://id.example" && (20..<64).contains(origins.count))
        #expect(origins.joined(separator: " ").utf8.count <= ConsolePolicy.maxOriginBytes)
    }

    // MARK: What is kept

    /// A directory that the test lets fail.
    private final class ShakyDirectory: ConsoleDirectory {
        let state = Mutex((rows: ConsoleSurroundings(), isDown: false, reads: 0))

        func surroundings() async throws(GatewayError) -> ConsoleSurroundings {
            let (rows, isDown) = state.withLock { state in
                state.reads += 1
                return (state.rows, state.isDown)
            }
            if isDown { throw .unavailable(retryAfter: 1, cause: "the test wants it so") }
            return rows
        }
    }

    @Test func `rows and documents are kept for a while, and for as long as nothing better is to be had`() async throws
    {
        let directory = ShakyDirectory()
        let clock = TestClock(IssuerFixture.start)
        let documents = StubIssuerDocuments([Self.discovery: Self.document])
        let logs = InMemoryLogHandler()
        let offers = SignInOffers(
            directory: directory, documents: documents, now: { Date(timeIntervalSince1970: clock.value) },
            logger: Logger(label: "test") { _ in logs })
        directory.state.withLock { $0.isDown = true }
        await #expect(throws: GatewayError.self) { try await offers.offers() }
        let row = SignInIssuer(
            id: UUID(), issuer: "https://id.example", console: ConsoleSignIn(clientID: "c", send: .idToken))
        directory.state.withLock { $0 = (ConsoleSurroundings(issuers: [row]), false, 0) }
        for _ in 0..<3 { #expect(try await offers.offers().map(\.issuer) == [row]) }
        #expect(directory.state.withLock { $0.reads } == 1 && documents.urls.count == 1)
        clock.value += 3
        directory.state.withLock { $0.isDown = true }
        let kept = try await offers.offers()
        #expect(kept.first?.endpoints?.token == "https://token.id.example:8443/token?x=1")
        #expect(directory.state.withLock { $0.reads } == 2 && documents.urls.count == 1)
        directory.state.withLock { $0.isDown = false }
        clock.value += 599
        _ = try await offers.offers()
        #expect(documents.urls.count == 2)
        // The row is gone, and so is its document.
        directory.state.withLock { $0.rows = ConsoleSurroundings() }
        clock.value += 3
        #expect(try await offers.offers().isEmpty)
        directory.state.withLock { $0.rows = ConsoleSurroundings(issuers: [row]) }
        clock.value += 3
        #expect(try await offers.offers().first?.endpoints != nil)
        #expect(documents.urls.count == 3)
    }

    @Test func `an issuer that does not answer is asked again after some seconds, and not before`() async throws {
        let directory = ShakyDirectory()
        let row = SignInIssuer(
            id: UUID(), issuer: "https://id.example", console: ConsoleSignIn(clientID: "c", send: .idToken))
        directory.state.withLock { $0.rows = ConsoleSurroundings(issuers: [row]) }
        let clock = TestClock(IssuerFixture.start)
        let documents = StubIssuerDocuments(failures: [Self.discovery: .timedOut])
        let logs = InMemoryLogHandler()
        let offers = SignInOffers(
            directory: directory, documents: documents, now: { Date(timeIntervalSince1970: clock.value) },
            logger: Logger(label: "test") { _ in logs })
        for (pause, count) in [(0.0, 1), (4.9, 1), (0.2, 2), (0, 2), (-100, 3)] {
            clock.value += pause
            let found = try await offers.offers()
            #expect(found.first?.endpoints == nil)
            #expect(documents.urls.count == count, "\(pause)")
        }
    }

    @Test func `who asks while a document is fetched waits for it, and it is fetched once`() async throws {
        let directory = ShakyDirectory()
        let row = SignInIssuer(
            id: UUID(), issuer: "https://id.example", console: ConsoleSignIn(clientID: "c", send: .idToken))
        directory.state.withLock { $0.rows = ConsoleSurroundings(issuers: [row]) }
        let answered = Latch()
        let documents = StubIssuerDocuments([Self.discovery: Self.document]) { _ in await answered.wait() }
        let logs = InMemoryLogHandler()
        let offers = SignInOffers(
            directory: directory, documents: documents, now: { Date(timeIntervalSince1970: IssuerFixture.start) },
            logger: Logger(label: "test") { _ in logs })
        async let first = offers.offers()
        await answered.arrival()
        async let second = offers.offers()
        // Time enough for an answer without the document.
        try await Task.sleep(for: .milliseconds(50))
        answered.open()
        let found = try await [first, second].map { $0.first?.endpoints?.token }
        #expect(found == Array(repeating: "https://token.id.example:8443/token?x=1", count: 2))
        #expect(documents.urls.count == 1)
    }

    /// Those who have an API key wait too, and the page and its configuration ask one after the other.
    @Test func `an issuer that hangs is waited for once a page, and not for long`() async throws {
        let directory = ShakyDirectory()
        let row = SignInIssuer(
            id: UUID(), issuer: "https://id.example", console: ConsoleSignIn(clientID: "c", send: .idToken))
        directory.state.withLock { $0.rows = ConsoleSurroundings(issuers: [row]) }
        let clock = TestClock(IssuerFixture.start)
        let documents = StubIssuerDocuments(failures: [Self.discovery: .timedOut]) { limit in
            clock.value += (limit ?? .seconds(5)) / .seconds(1)
        }
        let logs = InMemoryLogHandler()
        let offers = SignInOffers(
            directory: directory, documents: documents, now: { Date(timeIntervalSince1970: clock.value) },
            logger: Logger(label: "test") { _ in logs })
        for _ in 0..<2 { _ = try await offers.offers() }
        #expect(clock.value == IssuerFixture.start + 2)
        clock.value += 4.9
        _ = try await offers.offers()
        #expect(documents.urls.count == 1)
        clock.value += 0.2
        _ = try await offers.offers()
        #expect(documents.urls.count == 2)
    }

    @Test func `without the database the page opens, for those who have a key`() async throws {
        let directory = ShakyDirectory()
        directory.state.withLock { $0.isDown = true }
        let gateway = TestGateway(console: directory)
        #expect(try await connectSources(gateway) == ["'self'"])
        #expect(await gateway.send(.get, "/console/style.css").status == 200)
        let answer = await gateway.send(.get, "/console/config.json")
        #expect(answer.status == 503)
    }

    // MARK: The row

    @Test func `an issuer's sign-in is written, read, changed and removed`() async throws {
        let gateway = TestGateway()
        let body = """
            {"issuer":"https://id.example","audiences":["c"],"algorithms":["ES256"],"keys":{"url":"https://id.example/k"},\
            "principalPrefix":"","groupPrefix":"","console":{"clientID":"c","send":"id_token"}}
            """
        let created = await gateway.send(.post, "/admin/v1/issuers", token: "admin-token", json: body)
        #expect(created.status == 201, "\(created.text)")
        let location = try #require(created.headers[.location])
        let console = try #require(created.json["console"] as? [String: Any])
        #expect(console["clientID"] as? String == "c" && console["scopes"] as? [String] == ["openid"])
        #expect(console.count == 3, "what is not set is left out")
        func patch(_ json: String, _ tag: String?) async -> TestAnswer {
            await gateway.send(
                .patch, location, token: "admin-token",
                headers: [.contentType: "application/merge-patch+json", .ifMatch: tag ?? "*"], json: json)
        }
        let changed = await patch(
            #"{"console":{"tokenEndpoint":"https://t.example/t","scopes":["openid","email"]}}"#, created.headers[.eTag])
        #expect(changed.status == 200, "\(changed.text)")
        let merged = try #require(changed.json["console"] as? [String: Any])
        #expect(merged["clientID"] as? String == "c" && merged["tokenEndpoint"] as? String == "https://t.example/t")
        #expect(merged["scopes"] as? [String] == ["openid", "email"])
        for (json, field) in [
            (#"{"console":{"send":"both"}}"#, "console.send"), (#"{"console":{"x":1}}"#, "console.x"),
            (#"{"console":{"clientID":null}}"#, "console.clientID"), (#"{"console":[]}"#, "console"),
            (#"{"console":{"tokenEndpoint":"http://t.example"}}"#, "console.tokenEndpoint"),
        ] {
            let refused = await patch(json, "*")
            #expect(refused.status == 400 && refused.string("field") == field, "\(json): \(refused.text)")
        }
        let unreachable = await gateway.send(
            .post, "/admin/v1/issuers", token: "admin-token",
            json: body.replacing(#""issuer":"https://id.example""#, with: #""issuer":"backend""#))
        #expect(unreachable.status == 400 && unreachable.string("field") == "console", "\(unreachable.text)")
        let removed = await patch(#"{"console":null}"#, "*")
        #expect(removed.status == 200 && removed.json["console"] == nil)
    }
}

extension TestGateway {
    /// Makes the row of a bucket.
    fileprivate func makeBucket(_ name: String, change: (inout Bucket) -> Void = { _ in }) async throws {
        var bucket = try StubPolicy.bucket()
        bucket.name = try BucketName(name)
        change(&bucket)
        _ = try await stores.buckets.create(bucket, by: ChangeContext(actor: .bootstrapAdmin, requestID: "r"))
    }
}
