import GatewayCore
import HTTPServing
import HTTPTypes
import Signing
import StrictJSON

/// `POST /v1/cdn-cookies`: cookies with which a client downloads from a bucket's CDN.
struct CDNCookieEndpoints: Sendable {
    let useCase: CDNCookies

    /// Issues the cookies. They are data: a `Set-Cookie` of this host would not reach the CDN's.
    @Sendable func issue(_ request: APIRequest, _ caller: Caller) async throws -> ServerResponse {
        try request.allowQuery([])
        var body = try request.jsonObject()
        let wanted = try CookieRequest(
            bucket: try body.required(
                "bucket", body.parsed("bucket") { (text) throws(GatewayError) in try BucketName(text) }),
            prefix: try body.required("prefix", body.string("prefix")),
            expiresIn: try body.integer("expiresIn").map { Int(clamping: $0) })
        try body.end()
        let issued = try await useCase.issue(wanted, in: request.context(of: caller))
        var response = ServerResponse.json(.created) { issued.write(to: &$0) }
        response.setRateLimit(issued.quotas)
        return response
    }
}

extension IssuedCookies {
    /// Writes the members of the answer.
    fileprivate func write(to json: inout JSONWriter) {
        json.member("id", id)
        json.member("bucket", bucket.rawValue)
        json.member("prefix", prefix.rawValue)
        json.member("url", url)
        json.object("cookies") { json in
            for cookie in cookies.reveal() { json.member(named: cookie.name, cookie.value) }
        }
        json.member("domain", host)
        json.member("path", path)
        json.member("expiresAt", expiresAt)
        json.member("expiresIn", expiresIn)
    }
}
