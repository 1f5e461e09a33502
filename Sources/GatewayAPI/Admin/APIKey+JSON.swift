import Foundation
import GatewayCore
import HTTPServing
import HTTPTypes
import StrictJSON

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
        let key = try newKey()
        row.prefix = key.prefix
        row.hash = key.hash
        let created = try await rows.store.create(row.validated(), by: caller.change(in: request))
        var response = Self.answer(.created, created, key)
        response.head.headerFields[.location] = APIKey.collectionPath + "/" + created.row.identifier
        return response
    }

    /// `POST /admin/v1/api-keys/{id}:rotate`: another secret for the same row; the present one ends at once, or after a while.
    @Sendable func rotate(_ request: APIRequest, _ caller: Caller) async throws -> ServerResponse {
        try request.allowQuery([])
        var body = try request.jsonObjectIfAny()
        let overlap = try body.integer("overlapSeconds") ?? 0
        guard 0...Self.longestOverlap ~= overlap else {
            throw body.invalid("overlapSeconds", "A key overlaps with the one before for 0 to 604,800 seconds.")
        }
        try body.end()
        guard let id = APIKey.identifier(from: request.parameter(0)) else { throw GatewayError.notFound(.apiKey) }
        let stored = try await rows.store.get(id)
        guard try request.ifMatch().admits(stored.revision) else { throw GatewayError.preconditionFailed }
        let key = try newKey()
        var row = stored.row
        row.previousKey =
            overlap == 0
            ? nil
            : APIKey.PreviousKey(
                prefix: row.prefix, hash: row.hash,
                expiresAt: try rows.newRow(caller).now.addingTimeInterval(TimeInterval(overlap)))
        row.prefix = key.prefix
        row.hash = key.hash
        let changed = try await rows.store.update(row, from: stored.revision, by: caller.change(in: request))
        return Self.answer(.ok, changed, key)
    }

    private static var longestOverlap: Int64 { 604_800 }

    private func newKey() throws -> APIKeyText {
        guard let key = APIKeyText(randomBytes: try randomBytes(APIKeyText.randomByteCount)) else {
            throw GatewayError.unavailable(retryAfter: 1)
        }
        return key
    }

    /// The answer that shows a key, once.
    private static func answer(
        _ status: HTTPResponse.Status, _ stored: Stored<APIKey>, _ key: APIKeyText
    ) -> ServerResponse {
        var response = ServerResponse.json(status) { json in
            stored.row.write(to: &json)
            json.member("key", key.text.reveal())
        }
        response.head.headerFields[.eTag] = EntityTag(of: stored).text
        return response
    }
}

extension APIKey: AdminResource {
    static var kind: ResourceKind { .apiKey }
    static var filters: [ListFilter] {
        [.text("principal"), .text("prefix"), .word("role", Role.self), .instant("activeAt")]
    }
    static var collectionPath: String { "/admin/v1/api-keys" }
    static var ownMembers: Set<String> { ["id", "prefix", "previousKey", "createdAt"] }
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
        previousKey = old.previousKey
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
        if let previousKey {
            json.name("previousKey")
            json.object { json in
                json.member("prefix", previousKey.prefix)
                json.member("expiresAt", previousKey.expiresAt)
            }
        }
    }
}
