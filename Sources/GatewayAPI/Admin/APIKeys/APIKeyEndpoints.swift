import Foundation
import GatewayCore
import HTTPServing
import HTTPTypes
import StrictJSON

/// Endpoints for API keys. They work as for other rows, but the answer to a creation shows the key itself, once.
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

    /// `POST /admin/v1/api-keys/{id}:rotate`: gives the row a new secret. The present secret ends at once, or after a
    /// delay.
    @Sendable func rotate(_ request: APIRequest, _ caller: Caller) async throws -> ServerResponse {
        try request.allowQuery([])
        var body = try request.jsonObjectIfAny()
        let overlap = try body.integer("overlapSeconds") ?? 0
        guard 0...Self.longestOverlap ~= overlap else {
            throw body.invalid("overlapSeconds", "The overlap must be 0 to 604,800 seconds.")
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
            throw GatewayError.unavailable(retryAfter: 1, cause: "the system gives no random bytes")
        }
        return key
    }

    /// Makes the answer that shows a key, once.
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
