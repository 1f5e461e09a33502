import FoundationEssentials
import GatewayCore
import HTTPServing
import HTTPTypes
import StrictJSON

/// `/admin/v1/groups/{group}/members`: the path names the group; the body or the path names the member.
struct GroupMemberEndpoints: Sendable {
    let rows: RowEndpoints<GroupMember>
    let now: @Sendable () -> Date

    /// `POST /admin/v1/groups/{group}/members`.
    @Sendable func create(_ request: APIRequest, _ caller: Caller) async throws -> ServerResponse {
        try request.allowQuery([])
        let group = try Self.group(in: request)
        var body = try request.jsonObject()
        let member = try body.required("member", body.principal("member"))
        try body.end()
        let row = GroupMember(group: group, member: member, createdAt: now())
        request.notes.note(row: GroupMember.shown(row.identifier))
        let created = try await rows.store.create(Validated(row), by: caller.change(in: request))
        var response = ServerResponse.json(.created) { created.row.write(to: &$0) }
        response.head.headerFields[.location] = created.path
        response.head.headerFields[.eTag] = EntityTag(of: created).text
        return response
    }

    /// `GET /admin/v1/groups/{group}/members`: the group in the path is one more filter.
    @Sendable func list(_ request: APIRequest, _ caller: Caller) async throws -> ServerResponse {
        var filters = try request.listFilters(GroupMember.filters)
        filters["group"] = try Self.group(in: request).rawValue
        let page = try await rows.store.list(request.listQuery(filters, for: caller))
        return .json(.ok) { json in page.write(to: &json) { $0.write(to: &$1) } }
    }

    private static func group(in request: APIRequest) throws(GatewayError) -> Principal {
        guard let group = try? Principal(request.parameter(0)), group.isGroup else {
            throw .invalidArgument(field: "group", reason: "The value must be a group: 'group:' followed by a name.")
        }
        return group
    }
}

extension GroupMember {
    fileprivate var path: String {
        "/admin/v1/groups/\(PathSegment.encoded(group.rawValue))/members/\(PathSegment.encoded(member.rawValue))"
    }
}
