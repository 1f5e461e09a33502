import FoundationEssentials
import GatewayCore
import HTTPServing
import HTTPTypes
import JOSE
import StrictJSON

/// `POST /admin/v1/explain`: a question that changes nothing.
struct ExplainEndpoints: Sendable {
    let useCase: Explainer

    /// Explains a request, or an issuance.
    @Sendable func explain(_ request: APIRequest, _ caller: Caller) async throws -> ServerResponse {
        try request.allowQuery([])
        var body = try request.jsonObject()
        let reach = request.reach(of: caller)
        let explanation: Explanation
        if let id = try body.uuid("issuanceID") {
            try body.end()
            explanation = try await useCase.explain(issuance: id, within: reach)
        } else {
            explanation = try await explain(&body, within: reach)
        }
        return .json(.ok, capacity: 4096) { explanation.write(to: &$0) }
    }

    private func explain(_ body: inout JSONObject, within reach: AdminReach) async throws -> Explanation {
        let at = try body.instant("at")
        let delivery = try body.word("delivery", ExplainedDelivery.self) ?? .presignedURL
        let source = try sourceAddress(&body)
        let issuer = try body.string("issuer")
        let principal = try body.principal("principal")
        let claimed = body.value("claims")
        let groups = try groups(&body)
        let fields = try IssueRequest.Fields(&body)
        try body.end()
        for (name, value) in [("action", fields.action), ("bucket", fields.bucket)] where value == nil {
            throw GatewayError.missing(body.name(of: name))
        }
        guard fields.key != nil || fields.keyPrefix != nil || fields.prefix != nil else {
            throw GatewayError.missing(body.name(of: "key"))
        }
        guard delivery == .presignedURL || fields.canBeRedirect else {
            throw body.invalid(
                "delivery", "A redirect is for one object to download, and has no other members than those of its URL.")
        }
        func question(for subject: Subject, in groups: [Principal]) -> ExplainQuestion {
            ExplainQuestion(
                subject: subject, groups: groups, fields: fields, delivery: delivery.delivery, sourceAddress: source,
                at: at)
        }
        switch (principal, issuer) {
        case (let principal?, nil):
            guard principal.isUser else { throw body.invalid("principal", "The value must be a user.") }
            let subject = Subject(principal: principal, claims: try Self.texts(claimed))
            return try await useCase.explain(question(for: subject, in: groups), within: reach)
        case (nil, let issuer?):
            guard groups.isEmpty else {
                throw body.invalid("groups", "Omit 'groups': with an issuer, the claims name the groups.")
            }
            guard case .object(let claims)? = claimed else {
                throw body.invalid("claims", "The value must be an object with the claims of a token.")
            }
            return try await useCase.explain(tokenOf: issuer, at: at, within: reach) {
                (row, instant) throws(GatewayError) in
                let token = try Self.token(claims, of: row, at: instant)
                let subject = Subject(principal: token.principal, claims: token.claims)
                return question(for: subject, in: token.groups)
            }
        default:
            throw body.invalid("principal", "Send either 'principal', or 'issuer' with the claims of its token.")
        }
    }

    private func sourceAddress(_ body: inout JSONObject) throws(GatewayError) -> IPAddress? {
        guard let text = try body.string("sourceAddress") else { return nil }
        guard let address = IPAddress(text) else {
            throw body.invalid(
                "sourceAddress",
                "The value must be an IP address.")
        }
        return address
    }

    private func groups(_ body: inout JSONObject) throws(GatewayError) -> [Principal] {
        var groups: [Principal] = []
        for (index, text) in (try body.strings("groups", atMost: 512) ?? []).enumerated() {
            guard let group = try? Principal(text), group.isGroup else {
                throw body.invalid("groups[\(index)]", "The value must be a group.")
            }
            groups.append(group)
        }
        return groups
    }

    /// Reads the claims of a named principal, as templates see them.
    private static func texts(_ value: JSONValue?) throws(GatewayError) -> [String: String] {
        guard let value else { return [:] }
        guard case .object(let members) = value, members.count <= 100 else {
            throw .invalidArgument(field: "claims", reason: "The value must be an object with at most 100 members.")
        }
        var texts: [String: String] = [:]
        for member in members {
            guard case .string(let text) = member.value else {
                throw .invalidArgument(field: "claims", reason: "The claims of a principal must be strings.")
            }
            texts[member.name] = text
        }
        return texts
    }

    /// Makes the token that these claims would give. If audience or expiry are left out, they count as correct.
    private static func token(
        _ claims: [JSONValue.Member], of issuer: Issuer?, at instant: Date
    ) throws(GatewayError) -> VerifiedToken {
        guard let issuer else { throw TokenAuthenticator.refusal(Cause(.unknownIssuer)) }
        let stated = JSONValue.object(claims)
        var claims = claims
        if stated["aud"] == nil { claims.append(.init(name: "aud", value: .string(issuer.audiences.first ?? ""))) }
        if stated["exp"] == nil {
            let end = Int64(instant.timeIntervalSince1970) + 3600
            claims.append(.init(name: "exp", value: .number(String(end))))
        }
        return try VerifiedToken(payload: .object(claims), issuer: issuer, keys: KeySet([]), at: instant, skew: 60)
    }
}

/// The deliveries that a question can name.
private enum ExplainedDelivery: String, CaseIterable {
    case presignedURL = "presigned-url"
    case redirect

    var delivery: Delivery { self == .redirect ? .redirect : .presignedURL }
}
