import Foundation
import GatewayCore
import HTTPServing
import HTTPTypes
import StrictJSON

/// Create, read, list, change and delete, the same for every kind of row.
struct AdminEndpoints<Resource: AdminResource>: Sendable {
    let store: any AdminStore<Resource>
    let newRow: @Sendable (Caller) throws -> NewRow
    /// Takes what a row that is made or changed needs besides its members, and refuses it without that.
    var confirm: @Sendable (RowChange<Resource>, inout JSONObject) async throws -> Void = { _, _ in }

    /// `POST` on the collection.
    @Sendable func create(_ request: APIRequest, _ caller: Caller) async throws -> ServerResponse {
        try request.allowQuery([])
        var body = try request.jsonObject()
        let resource = try Resource(&body, as: newRow(caller)).validated()
        try await confirm(RowChange(old: nil, new: resource, caller: caller), &body)
        try body.end()
        let created = try await store.create(resource, by: caller.change(in: request))
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

    /// `PUT` on one row: the body is the row as it shall be.
    @Sendable func replace(_ request: APIRequest, _ caller: Caller) async throws -> ServerResponse {
        try await change(request, caller) { _, sent in sent }
    }

    /// `PATCH` on one row: the body says what shall be different (RFC 7396).
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
        try await confirm(RowChange(old: stored.row, new: resource, caller: caller), &body)
        try body.end()
        return Self.answer(
            .ok, try await store.update(resource, from: stored.revision, by: caller.change(in: request)))
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

    /// The answer that shows a row.
    static func answer(_ status: HTTPResponse.Status, _ stored: Stored<Resource>) -> ServerResponse {
        var response = ServerResponse.json(status) { stored.row.write(to: &$0) }
        response.head.headerFields[.eTag] = EntityTag(of: stored).text
        return response
    }
}

/// A row as it is, if it is there, and as it shall be.
struct RowChange<Resource: Sendable>: Sendable {
    let old: Resource?
    let new: Resource
    /// Who says so.
    let caller: Caller
}

extension APIRequest {
    /// What a list is asked for, with filters already taken.
    func listQuery(_ filters: [String: String]) throws(GatewayError) -> ListQuery {
        var pageSize = 100
        if let text = try query("pageSize") {
            guard let size = Int(text), 1...1000 ~= size else {
                throw .invalidArgument(field: "pageSize", reason: "A page has 1 to 1,000 rows.")
            }
            pageSize = size
        }
        return ListQuery(filters: filters, pageSize: pageSize, pageToken: try query("pageToken"))
    }
}

extension Page {
    /// Writes the members of a page, each row by `write`.
    func write(to json: inout JSONWriter, row write: (Item, inout JSONWriter) -> Void) {
        json.name("items")
        json.array(items) { json, item in
            json.object { write(item, &$0) }
        }
        json.member("nextPageToken", nextPageToken)
    }
}

extension ServerResponse {
    /// The answer to a deletion.
    static var noContent: ServerResponse {
        ServerResponse(head: ResponseHead(status: .noContent, headerFields: [.cacheControl: "no-store"]))
    }

    /// An answer that is one JSON object, kept by nobody on the way.
    static func json(
        _ status: HTTPResponse.Status, capacity: Int = 512, _ members: (inout JSONWriter) -> Void
    ) -> ServerResponse {
        var json = JSONWriter(capacity: capacity)
        json.object(members)
        var fields = jsonFields
        fields.reserve(adding: Self.otherFieldsRoom)
        return ServerResponse(head: ResponseHead(status: status, headerFields: fields), body: .bytes(json.bytes))
    }

    /// Room for the id of the request and what is left of one quota.
    private static let otherFieldsRoom = 256

    private static let jsonFields: HeaderFields = [.contentType: "application/json", .cacheControl: "no-store"]
}

/// Text as one segment of a path.
enum PathSegment {
    /// Escapes everything but the unreserved bytes of RFC 3986 and `:`.
    static func encoded(_ text: String) -> String {
        let digits = Array("0123456789ABCDEF".utf8)
        var bytes: [UInt8] = []
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
                UInt8(ascii: "~"), UInt8(ascii: ":"):
                bytes.append(byte)
            default:
                bytes += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
