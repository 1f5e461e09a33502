import GatewayCore
import HTTPServing
import HTTPTypes
import StrictJSON

/// Reads, lists and deletes rows, in the same way for every kind.
protocol RowReading<Resource>: Sendable {
    /// The kind of row.
    associatedtype Resource: ListedResource

    /// The rows.
    var store: any AdminStore<Resource> { get }
}

/// Endpoints for rows that admins neither create nor change.
struct RowEndpoints<Resource: ListedResource>: RowReading {
    let store: any AdminStore<Resource>
}

extension RowReading {
    /// `GET` on one row.
    @Sendable func get(_ request: APIRequest, _ caller: Caller) async throws -> ServerResponse {
        try request.allowQuery([])
        return Self.answer(.ok, try await store.get(identifier(in: request), within: request.reach(of: caller)))
    }

    /// `GET` on the collection.
    @Sendable func list(_ request: APIRequest, _ caller: Caller) async throws -> ServerResponse {
        let filters = try request.listFilters(Resource.filters)
        try Resource.check(filters)
        let page = try await store.list(request.listQuery(filters, for: caller))
        return .json(.ok) { json in page.write(to: &json) { $0.write(to: &$1) } }
    }

    /// `DELETE` on one row.
    @Sendable func delete(_ request: APIRequest, _ caller: Caller) async throws -> ServerResponse {
        try request.allowQuery([])
        let id = try identifier(in: request)
        let revision = try await request.ifMatch().revision(
            of: id, in: store, within: request.reach(of: caller))
        try await store.delete(id, revision: revision, by: caller.change(in: request))
        return .noContent
    }

    /// The identifier that the path names.
    func identifier(in request: APIRequest) throws(GatewayError) -> String {
        guard let identifier = Resource.identifier(from: request.match.parameters) else {
            throw .notFound(Resource.kind)
        }
        request.notes.note(row: GroupMember.shown(identifier))
        return identifier
    }

    /// Makes the answer that shows a row, and a secret of it.
    static func answer(
        _ status: HTTPResponse.Status, _ stored: Stored<Resource>, showing shown: ShownMember? = nil
    ) -> ServerResponse {
        var response = ServerResponse.json(status) { json in
            stored.row.write(to: &json)
            if let shown { json.member(shown.name, shown.secret.reveal()) }
        }
        response.head.headerFields[.eTag] = EntityTag(of: stored).text
        return response
    }
}
