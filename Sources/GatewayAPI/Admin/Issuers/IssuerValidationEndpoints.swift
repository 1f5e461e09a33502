import FoundationEssentials
import GatewayCore
import HTTPServing
import HTTPTypes
import StrictJSON

/// `POST /admin/v1/issuers/{id}:validate`.
struct IssuerValidationEndpoints: Sendable {
    let useCase: IssuerValidations

    /// Tests an issuer and, if there is one, a token of it. Nothing of the token is logged, recorded or kept.
    @Sendable func validate(_ request: APIRequest, _ caller: Caller) async throws -> ServerResponse {
        try request.allowQuery([])
        var body = try request.jsonObjectIfAny()
        let token = try body.string("token").map { Secret($0) }
        let origin = try body.string("origin")
        guard origin.map(Self.isOrigin) ?? true else {
            throw body.invalid("origin", "The value must be 'http(s)://host[:port]', as browsers write it.")
        }
        try body.end()
        let id = try request.rowID(of: .issuer)
        // The console sends its requests from the page whose origin counts.
        let page = request.headers[.origin].flatMap { Self.isOrigin($0) ? $0 : nil }
        let validation = try await useCase.validate(
            id, token: token, origin: origin ?? page, by: caller.change(in: request))
        return .json(.ok, capacity: 4096) { validation.write(to: &$0) }
    }

    private static func isOrigin(_ text: String) -> Bool { WebOrigin(ofURL: text)?.text == text }
}

extension IssuerValidation {
    fileprivate func write(to json: inout JSONWriter) {
        json.member("valid", isValid)
        json.objects("steps", findings) { $1.write(to: &$0) }
        json.objects("keys", keys) { $1.write(to: &$0) }
        guard let bearer else { return }
        json.object("bearer") { bearer.write(to: &$0) }
    }
}

extension IssuerValidation.Finding {
    fileprivate func write(to json: inout JSONWriter) {
        json.member("step", step.rawValue)
        json.member("outcome", outcome.rawValue)
        json.member("url", url)
        if let status { json.member("status", status) }
        json.member("reason", failure?.word)
        if let duration { json.member("milliseconds", Int64((duration / .milliseconds(1)).rounded(.up))) }
        json.member("found", found)
        json.member("advice", advice)
    }
}

extension IssuerValidation.Key {
    fileprivate func write(to json: inout JSONWriter) {
        json.member("kid", id)
        json.member("kty", type)
        json.member("crv", curve)
        if let bits { json.member("bits", bits) }
        json.member("alg", algorithm)
        json.member("use", use)
        json.member("usableWith", usableWith)
        json.member("advice", advice)
    }
}

extension IssuerValidation.Bearer {
    fileprivate func write(to json: inout JSONWriter) {
        json.member("principal", principal.rawValue)
        json.member("groups", groups.map(\.rawValue))
        json.member("roles", Set(roles.map(\.role.rawValue)).sorted())
        json.conferred(roles)
        json.object("claims") { json in
            for claim in claims.sorted(by: { $0.key < $1.key }) { json.member(named: claim.key, claim.value) }
        }
    }
}
