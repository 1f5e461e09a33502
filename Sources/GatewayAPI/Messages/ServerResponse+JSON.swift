import HTTPServing
import HTTPTypes
import StrictJSON

extension ServerResponse {
    /// The answer to a deletion.
    static var noContent: ServerResponse {
        ServerResponse(head: ResponseHead(status: .noContent, headerFields: [.cacheControl: "no-store"]))
    }

    /// Makes an answer that is one JSON object; no cache may store it.
    static func json(
        _ status: HTTPResponse.Status, capacity: Int = 512, _ members: (inout JSONWriter) -> Void
    ) -> ServerResponse {
        var json = JSONWriter(capacity: capacity)
        json.object(members)
        var fields = jsonFields
        fields.reserve(adding: Self.otherFieldsRoom)
        return ServerResponse(head: ResponseHead(status: status, headerFields: fields), body: .bytes(json.bytes))
    }

    /// Room for the fields that hold the request's id and what is left of one quota.
    private static let otherFieldsRoom = 256

    private static let jsonFields: HeaderFields = [.contentType: "application/json", .cacheControl: "no-store"]
}
