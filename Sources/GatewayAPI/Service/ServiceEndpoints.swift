import HTTPServing
import HTTPTypes
import EmbeddedFiles
import StrictJSON

/// One thing that the gateway needs in order to serve.
public struct ReadinessCheck: Sendable, Equatable {
    /// What is looked at, for example `postgresql` or `clock`.
    public var name: String
    /// What is wrong, safe to show to anyone; `nil` where all is well.
    public var flaw: String?

    /// Puts a check's outcome together.
    public init(name: String, flaw: String? = nil) {
        self.name = name
        self.flaw = flaw
    }
}

/// Health, readiness, metrics, the contract and its page.
struct ServiceEndpoints: Sendable {
    let checks: @Sendable () async -> [ReadinessCheck]
    let metricsText: @Sendable () -> [UInt8]

    /// `GET /healthz`: the process answers.
    @Sendable func health(_ request: APIRequest) -> ServerResponse {
        .json(.ok) { $0.member("status", "ok") }
    }

    /// `GET /readyz`: requests can be served now.
    @Sendable func readiness(_ request: APIRequest) async -> ServerResponse {
        let checks = await checks()
        let isReady = checks.allSatisfy { $0.flaw == nil }
        return .json(isReady ? .ok : .serviceUnavailable) { json in
            json.member("status", isReady ? "ready" : "unavailable")
            json.name("checks")
            json.array(checks) { json, check in
                json.object { json in
                    json.member("name", check.name)
                    json.member("ok", check.flaw == nil)
                    json.member("flaw", check.flaw)
                }
            }
        }
    }

    /// `GET /metrics`: text exposition, version 0.0.4.
    @Sendable func metrics(_ request: APIRequest) -> ServerResponse {
        let fields: HeaderFields = [
            .contentType: "text/plain; version=0.0.4; charset=utf-8", .cacheControl: "no-store",
        ]
        return ServerResponse(head: ResponseHead(status: .ok, headerFields: fields), body: .bytes(metricsText()))
    }

    /// `GET /openapi.yaml`: the contract of this very build.
    @Sendable func contract(_ request: APIRequest) -> ServerResponse {
        let fields: HeaderFields = [.contentType: "application/yaml", .cacheControl: "no-cache"]
        return ServerResponse(
            head: ResponseHead(status: .ok, headerFields: fields), body: .bytes(EmbeddedFile.contract.bytes))
    }

    /// `GET /docs`: the contract for people.
    @Sendable func docs(_ request: APIRequest) -> ServerResponse {
        let fields: HeaderFields = [
            .contentType: "text/html; charset=utf-8", .cacheControl: "no-cache",
            .contentSecurityPolicy: DocsPage.securityPolicy, .referrerPolicy: "no-referrer",
            .xContentTypeOptions: "nosniff",
        ]
        return ServerResponse(head: ResponseHead(status: .ok, headerFields: fields), body: .bytes(DocsPage.bytes))
    }
}
