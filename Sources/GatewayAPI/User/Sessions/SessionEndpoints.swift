import FoundationEssentials
import GatewayCore
import HTTPServing
import HTTPTypes
import StrictJSON

/// Temporary credentials: `POST /v1/sts`, and the CredentialsURI protocol of the OSS SDKs.
struct SessionEndpoints: Sendable {
    let useCase: Sessions

    /// `POST /v1/sts`.
    @Sendable func issue(_ request: APIRequest, _ caller: Caller) async throws -> ServerResponse {
        try request.allowQuery([])
        var body = try request.jsonObject()
        let wanted = try SessionRequest(
            bucket: try body.required(
                "bucket", body.parsed("bucket") { (text) throws(GatewayError) in try BucketName(text) }),
            prefix: try body.string("prefix") ?? "", actions: try body.actions("actions"),
            duration: try body.integer("expiresIn").map { Int(clamping: $0) })
        try body.end()
        let issued = try await issue(wanted, request, caller)
        var response = ServerResponse.json(.created) { issued.write(to: &$0) }
        response.setRateLimit(issued.quotas)
        return response
    }

    /// `GET /v1/sts/oss` and `GET /distribute-token.json`: bucket and prefix come from the query or from the ticket.
    @Sendable func credentialsURI(_ request: APIRequest, _ caller: Caller) async throws -> ServerResponse {
        let wanted = try wanted(request, caller)
        let issued = try await issue(wanted, request, caller)
        let body = CredentialsURI.body(of: issued)
        guard let key = caller.ticket?.responseKey else { return CredentialsURI.response(body) }
        return try CredentialsURI.response(body, encryptedWith: key)
    }

    private func wanted(_ request: APIRequest, _ caller: Caller) throws(GatewayError) -> SessionRequest {
        if let ticket = caller.ticket {
            try request.allowQuery(["ticket"])
            return try SessionRequest(
                bucket: ticket.bucket, prefix: ticket.prefix.rawValue, actions: ticket.actions, duration: nil,
                leastLife: SessionRequest.leastLifeForSDKs, acceptsLess: true)
        }
        try request.allowQuery(["bucket", "prefix", "actions", "expiresIn"])
        guard let bucket = try request.query("bucket") else {
            throw .missing("bucket")
        }
        return try SessionRequest(
            bucket: BucketName(bucket), prefix: request.query("prefix") ?? "", actions: request.actions("actions"),
            duration: request.seconds("expiresIn"), leastLife: SessionRequest.leastLifeForSDKs, acceptsLess: true)
    }

    private func issue(
        _ wanted: SessionRequest, _ request: APIRequest, _ caller: Caller
    ) async throws(GatewayError) -> IssuedSession {
        try await useCase.issue(wanted, in: request.context(of: caller, opensSession: true))
    }
}

extension IssuedSession {
    fileprivate func write(to json: inout JSONWriter) {
        json.member("id", id)
        json.object("credentials") { json in
            json.member("accessKeyID", credential.accessKeyID)
            json.member("secretAccessKey", credential.secretAccessKey.reveal())
            json.member("sessionToken", credential.sessionToken.reveal())
        }
        json.member("expiresAt", credential.expiresAt)
        json.member("bucket", bucket.name.rawValue)
        let place = bucket.at(.default) ?? bucket
        json.member("endpoint", place.endpoint)
        json.member("region", place.region)
        json.member("addressing", place.addressing.rawValue)
        json.objects("scope", Action.allCases.filter(scope.actions.contains)) { json, action in
            json.member("action", action.rawValue)
            json.member("allow", scope.allowed(action).map(\.rawValue))
            json.member("deny", scope.denied(action).map(\.rawValue))
        }
        json.objects("notGranted", omissions) { json, omission in
            json.member("action", omission.action.rawValue)
            json.member("bucket", bucket.name.rawValue)
            json.member("prefix", omission.prefix.rawValue)
            json.member("code", omission.reason.code)
            json.member("reason", omission.reasonText)
        }
    }
}
