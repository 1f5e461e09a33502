import Foundation
import GatewayCore
import HTTPServing
import HTTPTypes

/// `GET /admin/v1/issuances`.
struct IssuanceEndpoints: Sendable {
    let reader: any IssuanceReader

    /// Lists what was issued, newest first.
    @Sendable func list(_ request: APIRequest, _ caller: Caller) async throws -> ServerResponse {
        try request.allowQuery(["alive", "pageSize", "pageToken"])
        var query = IssuanceQuery()
        switch try request.query("alive") {
        case nil, "false": break
        case "true": query.isAlive = true
        default: throw GatewayError.invalidArgument(field: "alive", reason: "One of 'true', 'false' is expected.")
        }
        let list = try request.listQuery([:])
        query.pageSize = list.pageSize
        query.pageToken = list.pageToken
        let page = try await reader.issuances(query)
        return .json(.ok) { json in page.write(to: &json) { $0.write(to: &$1) } }
    }
}

extension RecordedIssuance {
    fileprivate func write(to json: inout JSONWriter) {
        json.member("id", id)
        json.member("issuedAt", issuedAt)
        json.member("expiresAt", expiresAt)
        json.member("delivery", delivery)
        json.member("principal", principal)
        json.member("matchedPrincipal", matchedPrincipal)
        json.member("grantID", grantID)
        json.member("credentialID", credentialID)
        json.member("actions", actions)
        json.member("method", method)
        json.member("bucket", bucket)
        json.member("key", key)
        json.member("requestID", requestID)
    }
}
