import Foundation
import GatewayCore
import HTTPServing
import HTTPTypes
import StrictJSON

/// Creates, reads, lists, changes and deletes rows, in the same way for every kind.
struct AdminEndpoints<Resource: AdminResource>: Sendable {
    let store: any AdminStore<Resource>
    let newRow: @Sendable (Caller) throws -> NewRow
    /// Reads the members of a body that only the write needs, and makes the writer.
    private let writer: @Sendable (inout JSONObject) throws -> RowWriter<Resource>

    /// Makes endpoints that write straight into the store.
    init(store: any AdminStore<Resource>, newRow: @escaping @Sendable (Caller) throws -> NewRow) {
        self.init(store: store, newRow: newRow) { _ in RowWriter(store) }
    }

    /// Makes endpoints that write with `writer`.
    init(
        store: any AdminStore<Resource>, newRow: @escaping @Sendable (Caller) throws -> NewRow,
        writer: @escaping @Sendable (inout JSONObject) throws -> RowWriter<Resource>
    ) {
        self.store = store
        self.newRow = newRow
        self.writer = writer
    }

    /// `POST` on the collection.
    @Sendable func create(_ request: APIRequest, _ caller: Caller) async throws -> ServerResponse {
        try request.allowQuery([])
        var body = try request.jsonObject()
        let resource = try Resource(&body, as: newRow(caller)).validated()
        let writer = try writer(&body)
        try body.end()
        let created = try await writer.create(resource, caller.change(in: request))
        var response = Self.answer(.created, created)
        response.head.headerFields[.location] =
            Resource.collectionPath + "/" + PathSegment.encoded(created.row.identifier)
        return response
    }

    /// `GET` on one row.
    @Sendable func get(_ request: APIRequest, _ caller: Caller) async throws -> ServerResponse {
        try request.allowQuery([])
        return Self.answer(.ok, try await store.get(identifier(in: request)))
    }

    /// `GET` on the collection.
    @Sendable func list(_ request: APIRequest, _ caller: Caller) async throws -> ServerResponse {
        let page = try await store.list(request.listQuery(request.listFilters(Resource.filters)))
        return .json(.ok) { json in page.write(to: &json) { $0.write(to: &$1) } }
    }

    /// `PUT` on one row: the body is the new row.
    @Sendable func replace(_ request: APIRequest, _ caller: Caller) async throws -> ServerResponse {
        try await change(request, caller) { _, sent in sent }
    }

    /// `PATCH` on one row: the body is a merge patch (RFC 7396).
    @Sendable func patch(_ request: APIRequest, _ caller: Caller) async throws -> ServerResponse {
        try await change(request, caller) { current, sent in current.merged(with: sent) }
    }

    private func change(
        _ request: APIRequest, _ caller: Caller, _ combine: (_ current: JSONValue, _ sent: JSONValue) -> JSONValue
    ) async throws -> ServerResponse {
        try request.allowQuery([])
        let sent = try request.jsonValue(orOf: request.method == .patch ? "application/merge-patch+json" : nil)
        let ifMatch = try request.ifMatch()
        guard ifMatch != .absent else { throw APIError.preconditionRequired }
        let stored = try await store.get(identifier(in: request))
        guard ifMatch.admits(stored.revision) else { throw GatewayError.preconditionFailed }
        let current = JSONValue.object { stored.row.write(to: &$0) }
        var body = try JSONObject(
            combine(current, sent).without(Resource.passingMembers).settable(
                Resource.ownMembers, lasting: Resource.lastingMembers, of: current))
        let resource = try Resource(&body, as: newRow(caller), over: stored.row).validated()
        let writer = try writer(&body)
        try body.end()
        return Self.answer(.ok, try await writer.update(resource, stored, caller.change(in: request)))
    }

    /// `DELETE` on one row.
    @Sendable func delete(_ request: APIRequest, _ caller: Caller) async throws -> ServerResponse {
        try request.allowQuery([])
        let id = try identifier(in: request)
        let revision = try await request.ifMatch().revision(of: id, in: store)
        try await store.delete(id, revision: revision, by: caller.change(in: request))
        return .noContent
    }

    private func identifier(in request: APIRequest) throws(GatewayError) -> String {
        guard let identifier = Resource.identifier(from: request.parameter(0)) else {
            throw .notFound(Resource.kind)
        }
        return identifier
    }

    /// Makes the answer that shows a row.
    static func answer(_ status: HTTPResponse.Status, _ stored: Stored<Resource>) -> ServerResponse {
        var response = ServerResponse.json(status) { stored.row.write(to: &$0) }
        response.head.headerFields[.eTag] = EntityTag(of: stored).text
        return response
    }
}
