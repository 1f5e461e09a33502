import Foundation
import GatewayCore
import HTTPServing
import HTTPTypes

/// API keys: as other rows, but the answer to their creation shows the key itself, once.
struct APIKeyEndpoints: Sendable {
    let rows: AdminEndpoints<APIKey>
    let randomBytes: @Sendable (Int) throws -> [UInt8]

    /// `POST /admin/v1/api-keys`.
    @Sendable func create(_ request: APIRequest, _ caller: Caller) async throws -> ServerResponse {
        try request.allowQuery([])
        var body = try request.jsonObject()
        var row = try APIKey(&body, as: rows.newRow(caller))
        try body.end()
        guard let key = APIKeyText(randomBytes: try randomBytes(APIKeyText.randomByteCount)) else {
            throw GatewayError.unavailable(retryAfter: 1)
        }
        row.prefix = key.prefix
        row.hash = key.hash
        let created = try await rows.store.create(row.validated(), by: caller.change(in: request))
        var response = ServerResponse.json(.created) { json in
            created.row.write(to: &json)
            json.member("key", key.text.reveal())
        }
        response.head.headerFields[.location] = APIKey.collectionPath + "/" + created.row.identifier
        response.head.headerFields[.eTag] = EntityTag(of: created).text
        return response
    }
}

extension APIKey: AdminResource {
    static var kind: ResourceKind { .apiKey }
    static var filters: [ListFilter] {
        [.text("principal"), .text("prefix"), .word("role", Role.self), .instant("activeAt")]
    }
    static var collectionPath: String { "/admin/v1/api-keys" }
    static var ownMembers: Set<String> { ["id", "prefix", "createdAt"] }
    static var lastingMembers: Set<String> { ["principal"] }

    init(_ body: inout JSONObject, as new: NewRow) throws(GatewayError) {
        try self.init(&body, new)
        if let expiresAt, expiresAt <= new.now { throw body.invalid("expiresAt", "The time has passed.") }
    }

    /// A key that ended already may say so again.
    init(_ body: inout JSONObject, as new: NewRow, over old: APIKey) throws(GatewayError) {
        try self.init(&body, new)
        keep(old)
        if let expiresAt, expiresAt <= new.now, expiresAt != old.expiresAt {
            throw body.invalid("expiresAt", "The time has passed.")
        }
    }

    private init(_ body: inout JSONObject, _ new: NewRow) throws(GatewayError) {
        var groups: [Principal] = []
        for (index, text) in (try body.strings("groups") ?? []).enumerated() {
            guard let group = try? Principal(text) else {
                throw body.invalid("groups[\(index)]", "A group is expected: 'group:' and a name.")
            }
            groups.append(group)
        }
        self.init(
            id: new.id, prefix: "", hash: [],
            name: try body.required("name", body.string("name")),
            principal: try body.required("principal", body.principal("principal")),
            groups: groups,
            roles: try body.roles("roles"),
            expiresAt: try body.instant("expiresAt"),
            createdAt: new.now
        )
    }

    var identifier: String { id.uuidString.lowercased() }

    mutating func keep(_ old: APIKey) {
        id = old.id
        prefix = old.prefix
        hash = old.hash
        createdAt = old.createdAt
    }

    func write(to json: inout JSONWriter) {
        json.member("id", id)
        json.member("prefix", prefix)
        json.member("name", name)
        json.member("principal", principal.rawValue)
        json.member("groups", groups.map(\.rawValue))
        json.member("roles", roles.map(\.rawValue).sorted())
        json.member("expiresAt", expiresAt)
        json.member("createdAt", createdAt)
    }
}
