import GatewayCore
import HTTPServing
import HTTPTypes
import StrictJSON

/// `/admin/v1/groups`.
struct GroupEndpoints: Sendable {
    let directory: any GroupDirectory

    /// `GET /admin/v1/groups`: the groups that have members or grants.
    @Sendable func list(_ request: APIRequest, _ caller: Caller) async throws -> ServerResponse {
        let filters = try request.listFilters([.principal("member")])
        let page = try await directory.groups(request.listQuery(filters, for: caller))
        return .json(.ok) { json in
            page.write(to: &json) { row, json in
                json.member("group", row.group.rawValue)
                json.member("memberCount", row.memberCount)
                json.member("grantCount", row.grantCount)
            }
        }
    }
}
