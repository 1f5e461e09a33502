import GatewayCore
import HTTPServing
import HTTPTypes
import Signing

/// `POST /v1/presigned-urls`.
struct PresignedURLEndpoints: Sendable {
    let useCase: PresignedURLs
    let metrics: RequestMetrics
    /// How long a request may wait to be recorded.
    let timeout: Duration

    /// Issues one URL.
    @Sendable func issue(_ request: APIRequest, _ caller: Caller) async throws -> ServerResponse {
        try request.allowQuery([])
        var body = try request.jsonObject()
        let fields = try IssueRequest.Fields(&body)
        try body.end()
        let wanted = try IssueRequest(fields)
        let issued = try await useCase.issue(
            wanted, for: caller, sourceAddress: request.sourceAddress, requestID: request.id,
            deadline: ContinuousClock().now.advanced(by: timeout)
        )
        metrics.issued(action: wanted.action.rawValue, method: issued.method.rawValue)
        return Self.response(issued)
    }

    private static func response(_ issued: IssuedURL) -> ServerResponse {
        var response = ServerResponse.json(.created) { json in
            json.member("id", issued.id)
            json.member("method", issued.method.rawValue)
            json.member("url", issued.url.reveal())
            json.name("headers")
            json.object { json in
                for header in issued.headers { json.member(header.name, header.value) }
            }
            json.member("expiresAt", issued.expiresAt)
            json.member("expiresIn", issued.expiresIn)
            json.member("enforcedBy", issued.enforcedBy.rawValue)
        }
        if !issued.quotas.isEmpty {
            let items = issued.quotas.map(RateLimit.Item.init)
            response.head.headerFields[.rateLimit] = RateLimit.remaining(items)
            response.head.headerFields[.rateLimitPolicy] = RateLimit.policy(items)
        }
        return response
    }
}

extension IssueRequest.Fields {
    /// Takes the members of a body.
    fileprivate init(_ body: inout JSONObject) throws(GatewayError) {
        self.init()
        action = try body.string("action")
        method = try body.string("method")
        bucket = try body.string("bucket")
        key = try body.string("key")
        contentType = try body.string("contentType")
        contentMD5 = try body.string("contentMD5")
        checksumSHA256 = try body.string("checksumSHA256")
        contentLength = try body.integer("contentLength")
        expiresIn = try body.integer("expiresIn").map { Int($0) }
        if var response = try body.object("response") {
            self.response = try ResponseOverrides.Fields(&response)
            try response.end()
        }
        metadata = try body.dictionary("metadata", atMost: ObjectMetadata.maxCount)
        ifNoneMatch = try body.string("ifNoneMatch")
    }
}

extension ResponseOverrides.Fields {
    /// Takes the members of `response`.
    fileprivate init(_ json: inout JSONObject) throws(GatewayError) {
        self.init()
        contentDisposition = try json.string("contentDisposition")
        filename = try json.string("filename")
        contentType = try json.string("contentType")
        contentLanguage = try json.string("contentLanguage")
        cacheControl = try json.string("cacheControl")
        expires = try json.string("expires")
        contentEncoding = try json.string("contentEncoding")
    }
}
