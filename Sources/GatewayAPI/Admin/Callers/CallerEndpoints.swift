import GatewayCore
import HTTPServing
import HTTPTypes
import StrictJSON

/// `GET /admin/v1/caller`: who the caller is, as the gateway sees it.
struct CallerEndpoints: Sendable {
    /// Shows the caller's principal, roles and credential.
    @Sendable func show(_ request: APIRequest, _ caller: Caller) async throws -> ServerResponse {
        try request.allowQuery([])
        return .json(.ok) { json in
            json.member("principal", caller.principal.rawValue)
            json.member("groups", caller.groups.map(\.rawValue))
            json.member("roles", caller.roles.map(\.rawValue).sorted())
            if let scopes = caller.authority.sees.scopes {
                json.adminScopes(scopes)
            } else {
                json.name("adminScopes")
                json.value(.null)
            }
            json.conferred(caller.conferred)
            json.member("expiresAt", caller.expiresAt)
            json.object("credential") { json in
                json.member("kind", caller.credentialKind)
                json.member("id", caller.credentialID?.lowercaseText)
            }
        }
    }
}

extension Caller {
    /// The kind of credential, as answers name it.
    fileprivate var credentialKind: String {
        guard let scope else { return "bootstrap-key" }
        if case .issuer = PolicyKey(scope) { return "token" }
        return "api-key"
    }
}
