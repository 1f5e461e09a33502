import FoundationEssentials
import GatewayCore
import HTTPServing
import HTTPTypes
import StrictJSON

/// Creates, reads, lists, changes and deletes rows, in the same way for every kind.
struct AdminEndpoints<Resource: AdminResource>: RowReading {
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
        try request.allowQuery(Resource.hasTwins ? ["ifExists"] : [])
        let ifExists = try request.word("ifExists", IfExists.self) ?? .refuse
        var body = try request.jsonObject()
        let resource = try Validated(Resource(&body, as: newRow(caller)))
        let writer = try writer(&body)
        try body.end()
        let change = caller.change(in: request)
        let refusal: GatewayError
        do throws(GatewayError) {
            let created = try await writer.create(resource, change)
            request.notes.note(row: created.stored.row.identifier)
            return Self.located(.created, created.stored, showing: created.shown)
        } catch {
            refusal = error
        }
        guard ifExists == .return, case .alreadyExists(_, let existing?) = refusal else { throw refusal }
        do throws(GatewayError) {
            return Self.located(.ok, try await store.get(existing, within: request.reach(of: caller)))
        } catch {
            // Somebody has deleted it since. The refusal was right, and the client may repeat the request.
            if case .notFound = error { throw refusal }
            throw error
        }
    }

    /// Makes the answer that shows a row and names its path.
    private static func located(
        _ status: HTTPResponse.Status, _ stored: Stored<Resource>, showing shown: ShownMember? = nil
    ) -> ServerResponse {
        var response = answer(status, stored, showing: shown)
        response.head.headerFields[.location] =
            Resource.collectionPath + "/" + PathSegment.encoded(stored.row.identifier)
        return response
    }

    /// What a creation does if a row exists that says the same.
    private enum IfExists: String, CaseIterable {
        /// Answers 409.
        case refuse
        /// Answers 200 with that row.
        case `return`
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
        guard ifMatch != .absent else { throw APIError.preconditionRequired(source: "the row that you read") }
        var attempt = 1
        while true {
            do {
                return try await change(sent, in: request, caller, ifMatch, combine)
            } catch GatewayError.preconditionFailed where ifMatch == .any && attempt < Self.attempts {
                // Somebody else changed the row after it was read here.
                attempt += 1
            }
        }
    }

    /// How often a row is read and changed if any state will do.
    private static var attempts: Int { 5 }

    private func change(
        _ sent: JSONValue, in request: APIRequest, _ caller: Caller, _ ifMatch: IfMatch,
        _ combine: (_ current: JSONValue, _ sent: JSONValue) -> JSONValue
    ) async throws -> ServerResponse {
        let stored = try await store.get(identifier(in: request), within: request.reach(of: caller))
        guard ifMatch.admits(stored.revision) else { throw GatewayError.preconditionFailed }
        let current = JSONValue.object { stored.row.write(to: &$0) }
        var body = try JSONObject(
            combine(current, sent).without(Resource.passingMembers).settable(
                Resource.ownMembers, lasting: Resource.lastingMembers, of: current,
                mayLeaveOut: request.method == .put))
        let resource = try Validated(Resource(&body, as: newRow(caller), over: stored.row))
        let writer = try writer(&body)
        try body.end()
        return Self.answer(.ok, try await writer.update(resource, stored, caller.change(in: request)))
    }
}
