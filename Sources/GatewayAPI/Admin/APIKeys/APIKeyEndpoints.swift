import FoundationEssentials
import GatewayCore
import HTTPServing
import HTTPTypes

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
                    let created = try await changes.create(key, by: change)
                    return CreatedRow(stored: created.stored, shown: Self.member(created.text))
                },
                update: { (key, old, change) async throws(GatewayError) in
                    try await changes.update(key, over: old, by: change)
                })
        }
    }

    /// `POST /admin/v1/api-keys/{id}:rotate`: gives the row a new secret. The present secret ends at once, or after a
    /// delay.
    @Sendable func rotate(_ request: APIRequest, _ caller: Caller) async throws -> ServerResponse {
        try request.allowQuery([])
        let overlap = try RotationOverlap(request)
        let stored = try await rows.store.get(rows.identifier(in: request))
        guard try request.ifMatch().admits(stored.revision) else { throw GatewayError.preconditionFailed }
        let rotated = try await changes.rotate(stored, overlap: overlap, by: caller.change(in: request))
        return AdminEndpoints<APIKey>.answer(.ok, rotated.stored, showing: Self.member(rotated.text))
    }

    /// The member that shows a key.
    private static func member(_ text: APIKeyText) -> ShownMember {
        ShownMember(name: "key", secret: text.text)
    }
}
