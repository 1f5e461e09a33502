import FoundationEssentials
import GatewayCore
import HTTPServing
import HTTPTypes
import StrictJSON

/// `/admin/v1/groups/{group}/members`: the path names the group; the body or the path names the member.
struct GroupMemberEndpoints: Sendable {
    let store: any AdminStore<GroupMember>
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
        let created = try await store.create(Validated(row), by: caller.change(in: request))
        var response = ServerResponse.json(.created) { created.row.write(to: &$0) }
        response.head.headerFields[.location] = created.path
        response.head.headerFields[.eTag] = EntityTag(of: created).text
        return response
    }

    /// `GET /admin/v1/groups/{group}/members/{member}`.
    @Sendable func get(_ request: APIRequest, _ caller: Caller) async throws -> ServerResponse {
        try request.allowQuery([])
        let stored = try await store.get(Self.identifier(in: request), within: request.reach(of: caller))
        var response = ServerResponse.json(.ok) { stored.row.write(to: &$0) }
        response.head.headerFields[.eTag] = EntityTag(of: stored).text
        return response
    }

    /// `GET /admin/v1/groups/{group}/members`.
    @Sendable func list(_ request: APIRequest, _ caller: Caller) async throws -> ServerResponse {
        var filters = try request.listFilters([.principal("member")])
        filters["group"] = try Self.group(in: request).rawValue
        let page = try await store.list(request.listQuery(filters, for: caller))
        return .json(.ok) { json in page.write(to: &json) { $0.write(to: &$1) } }
    }

    /// `DELETE /admin/v1/groups/{group}/members/{member}`.
    @Sendable func delete(_ request: APIRequest, _ caller: Caller) async throws -> ServerResponse {
        try request.allowQuery([])
        let id = try Self.identifier(in: request)
        let revision = try await request.ifMatch().revision(
            of: id, in: store, within: request.reach(of: caller))
        try await store.delete(id, revision: revision, by: caller.change(in: request))
        return .noContent
    }

    private static func group(in request: APIRequest) throws(GatewayError) -> Principal {
        guard let group = try? Principal(request.parameter(0)), group.isGroup else {
            throw .invalidArgument(field: "group", reason: "The value must be a group: 'group:' followed by a name.")
        }
        return group
    }

    private static func identifier(in request: APIRequest) throws(GatewayError) -> String {
        guard let group = try? Principal(request.parameter(0)), group.isGroup,
            let member = try? Principal(request.parameter(1)), member.isUser
        else { throw .notFound(.groupMember) }
        let id = GroupMember(group: group, member: member, createdAt: Date(timeIntervalSince1970: 0)).identifier
        request.notes.note(row: GroupMember.shown(id))
        return id
    }
}

extension GroupMember {
    fileprivate var path: String {
        "/admin/v1/groups/\(PathSegment.encoded(group.rawValue))/members/\(PathSegment.encoded(member.rawValue))"
    }

    fileprivate func write(to json: inout JSONWriter) {
        json.member("group", group.rawValue)
        json.member("member", member.rawValue)
        json.member("createdAt", createdAt)
    }
}
