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
            created.write(to: &json)
            json.member("key", key.text.reveal())
        }
        response.head.headerFields[.location] = APIKey.collectionPath + "/" + created.identifier
        return response
    }
}

extension APIKey: AdminResource {
    static var kind: ResourceKind { .apiKey }
    static var filters: Set<String> { ["principal"] }
    static var collectionPath: String { "/admin/v1/api-keys" }

    init(_ body: inout JSONObject, as new: NewRow) throws(GatewayError) {
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
        if let expiresAt, expiresAt <= new.now { throw body.invalid("expiresAt", "The time has passed.") }
    }

    var identifier: String { id.uuidString.lowercased() }

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
