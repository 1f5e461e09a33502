import GatewayCore
import HTTPServing
import HTTPTypes
import Signing
import StrictJSON

/// `POST /v1/post-policies`: the fields of a browser form.
struct PostPolicyEndpoints: Sendable {
    let useCase: BrowserForms

    /// Issues a form.
    @Sendable func issue(_ request: APIRequest, _ caller: Caller) async throws -> ServerResponse {
        try request.allowQuery([])
        var body = try request.jsonObject()
        let fields = try PostPolicyRequest.Fields(&body)
        try body.end()
        let context = request.context(of: caller)
        let issued = try await useCase.issue(useCase.request(fields, in: context), in: context)
        var response = ServerResponse.json(.created) { issued.write(to: &$0) }
        response.setRateLimit(issued.quotas)
        return response
    }
}

extension PostPolicyRequest.Fields {
    /// Reads the members of a body.
    fileprivate init(_ body: inout JSONObject) throws(GatewayError) {
        self.init()
        bucket = try body.string("bucket")
        key = try body.string("key")
        keyPrefix = try body.string("keyPrefix")
        keyExtension = try body.string("keyExtension")
        keyStartsWith = try body.string("keyStartsWith")
        contentTypes = try body.strings("contentTypes")
        minBytes = try body.integer("minBytes")
        maxBytes = try body.integer("maxBytes")
        expiresIn = try body.integer("expiresIn").map { Int($0) }
        metadata = try body.dictionary("metadata", atMost: ObjectMetadata.maxCount)
        successActionStatus = try body.integer("successActionStatus")
        endpoint = try body.string("endpoint")
    }
}

extension IssuedPostPolicy {
    /// Writes the members of the answer.
    fileprivate func write(to json: inout JSONWriter) {
        json.member("id", id)
        json.member("method", IssueRequest.Method.post.rawValue)
        json.member("bucket", bucket.rawValue)
        json.member("key", key)
        json.member("url", url)
        json.object("fields") { json in
            for field in fields.reveal() { json.member(named: field.name, field.value) }
        }
        if let choice {
            json.member("contentTypes", choice.types)
            json.member("contentTypeField", choice.field)
        }
        json.member("expiresAt", expiresAt)
        json.member("expiresIn", expiresIn)
        json.member("enforcedBy", SizeEnforcement.policy.rawValue)
    }
}
