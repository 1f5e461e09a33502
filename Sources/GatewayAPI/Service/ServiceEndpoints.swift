import ContractModel
import EmbeddedFiles
import HTTPServing
import HTTPTypes
import StrictJSON

/// The state of one thing that the gateway needs in order to serve.
public struct ReadinessCheck: Sendable, Equatable {
    /// Name of the check, for example `recordings` or `clock`.
    public var name: String
    /// Description of the fault, safe to show to anyone; `nil` where there is none.
    public var flaw: String?

    /// Puts together the result of a check.
    public init(name: String, flaw: String? = nil) {
        self.name = name
        self.flaw = flaw
    }
}

/// Endpoints for health, readiness, metrics, the contract and its pages.
struct ServiceEndpoints: Sendable {
    /// The listener that serves the pages, which lead only to what is beside them.
    let listener: APIListener
    let checks: @Sendable () async -> [ReadinessCheck]
    let metricsText: @Sendable () -> [UInt8]

    /// `GET /healthz`: the process answers.
    @Sendable func health(_ request: APIRequest) -> ServerResponse {
        .json(.ok) { $0.member("status", "ok") }
    }

    /// `GET /readyz`: the gateway can serve requests now.
    @Sendable func readiness(_ request: APIRequest) async -> ServerResponse {
        let checks = await checks()
        let isReady = checks.allSatisfy { $0.flaw == nil }
        return .json(isReady ? .ok : .serviceUnavailable) { json in
            json.member("status", isReady ? "ready" : "unavailable")
            json.objects("checks", checks) { json, check in
                json.member("name", check.name)
                json.member("ok", check.flaw == nil)
                json.member("flaw", check.flaw)
            }
        }
    }

    /// `GET /metrics`: text exposition, version 0.0.4.
    @Sendable func metrics(_ request: APIRequest) async -> ServerResponse {
        let fields: HeaderFields = [
            .contentType: "text/plain; version=0.0.4; charset=utf-8", .cacheControl: "no-store",
        ]
        return ServerResponse(
            head: ResponseHead(status: .ok, headerFields: fields), body: .bytes(await Self.page(metricsText)))
    }

    /// Writes the page of metrics. With its thousands of lines, it takes longer than the thread of a connection may be
    /// held up.
    @concurrent private static func page(_ text: @Sendable () -> [UInt8]) async -> [UInt8] { text() }

    /// `GET /openapi.yaml`: the contract of this build.
    @Sendable func contract(_ request: APIRequest) -> ServerResponse {
        let fields: HeaderFields = [.contentType: "application/yaml", .cacheControl: "no-cache"]
        return ServerResponse(
            head: ResponseHead(status: .ok, headerFields: fields), body: .bytes(EmbeddedFile.contract.bytes))
    }

    /// `GET /openapi.json`: what the console needs of the contract, as JSON. It has no examples, no refusals, and no
    /// operations of protocols of other clients.
    @Sendable func contractJSON(_ request: APIRequest) async -> ServerResponse {
        await Self.json().answer(to: request)
    }

    /// The contract as JSON. The first call translates and compresses it, which takes longer than the thread of a
    /// connection may be held up.
    @concurrent private static func json() async -> StaticContent { translation }

    private static let translation: StaticContent = {
        guard let contract = try? ContractModel.embedded() else {
            preconditionFailure("The program's own contract can be read.")
        }
        let document = contract.root.withoutExamples.withoutRefusals.withoutProtocols
        return StaticContent(Array(document.json().utf8), type: "application/json")
    }()

    /// `GET /docs`: the contract as a page for people.
    @Sendable func docs(_ request: APIRequest) async -> ServerResponse {
        await Self.docsPage(on: listener).answer(to: request, with: Self.pageFields)
    }

    /// `GET /docs/docs.js`: the script of that page.
    @Sendable func docsScript(_ request: APIRequest) -> ServerResponse {
        Self.script.answer(to: request, with: Self.pageFields)
    }

    /// `GET /problems/{kind}`: what a problem means, at the address that its `type` names.
    @Sendable func problem(_ request: APIRequest) async throws -> ServerResponse {
        guard let page = await Self.problemPage(request.parameter(0), on: listener) else { throw APIError.noSuchRoute }
        return page.answer(to: request, with: Self.pageFields)
    }

    private static let pageFields: HeaderFields = [
        .contentSecurityPolicy: DocsPage.securityPolicy, .referrerPolicy: "no-referrer",
        .xContentTypeOptions: "nosniff",
    ]

    private static func page(_ bytes: [UInt8]) -> StaticContent {
        StaticContent(bytes, type: "text/html; charset=utf-8")
    }

    private static let docs = page(DocsPage.bytes(servesApps: true))
    private static let docsWithoutApps = page(DocsPage.bytes(servesApps: false))
    private static let script = StaticContent(
        EmbeddedFile.docsScript.bytes, type: "text/javascript; charset=utf-8")
    private static let problems = ProblemPage.all(hasDocs: true).mapValues(page)
    private static let problemsWithoutDocs = ProblemPage.all(hasDocs: false).mapValues(page)

    /// The first call renders the pages, which takes longer than the thread of a connection may be held up.
    @concurrent private static func docsPage(on listener: APIListener) async -> StaticContent {
        listener == .everything ? docs : docsWithoutApps
    }

    @concurrent private static func problemPage(
        _ name: String, on listener: APIListener
    ) async -> StaticContent? {
        (listener == .app ? problemsWithoutDocs : problems)[name]
    }
}
