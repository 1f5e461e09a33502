import FoundationEssentials
import GatewayCore
import HTTPServing
import HTTPTypes
import StrictJSON

/// Endpoints for API keys. They work as for other rows, but the answer to a creation shows the key itself, once.
struct APIKeyEndpoints: Sendable {
    let rows: AdminEndpoints<APIKey>
    private let changes: APIKeyChanges

    /// Makes the endpoints.
    init(
        store: any AdminStore<APIKey>, changes: APIKeyChanges, newRow: @escaping @Sendable (Caller) throws -> NewRow
    ) {
        self.changes = changes
        rows = AdminEndpoints(store: store, newRow: newRow) { _ in
            RowWriter(
                create: { (key, change) async throws(GatewayError) in
                    try await changes.create(key, by: change).stored
                },
                update: { (key, old, change) async throws(GatewayError) in
                    try await changes.update(key, over: old, by: change)
                })
        }
    }

    /// `POST /admin/v1/api-keys`.
    @Sendable func create(_ request: APIRequest, _ caller: Caller) async throws -> ServerResponse {
        try request.allowQuery([])
        var body = try request.jsonObject()
        let row = try APIKey(&body, as: rows.newRow(caller))
        try body.end()
        let created = try await changes.create(row, by: caller.change(in: request))
        var response = Self.answer(.created, created)
        response.head.headerFields[.location] = APIKey.collectionPath + "/" + created.stored.row.identifier
        return response
    }

    /// `POST /admin/v1/api-keys/{id}:rotate`: gives the row a new secret. The present secret ends at once, or after a
    /// delay.
    @Sendable func rotate(_ request: APIRequest, _ caller: Caller) async throws -> ServerResponse {
        try request.allowQuery([])
        var body = try request.jsonObjectIfAny()
        let overlap = try RotationOverlap(seconds: body.integer("overlapSeconds"))
        try body.end()
        let stored = try await rows.store.get(rows.identifier(in: request))
        guard try request.ifMatch().admits(stored.revision) else { throw GatewayError.preconditionFailed }
        return Self.answer(
            .ok, try await changes.rotate(stored, overlap: overlap, by: caller.change(in: request)))
    }

    /// Makes the answer that shows a key, once.
    private static func answer(
        _ status: HTTPResponse.Status, _ issued: (stored: Stored<APIKey>, text: APIKeyText)
    ) -> ServerResponse {
        var response = ServerResponse.json(status) { json in
            issued.stored.row.write(to: &json)
            json.member("key", issued.text.text.reveal())
        }
        response.head.headerFields[.eTag] = EntityTag(of: issued.stored).text
        return response
    }
}
