import FoundationEssentials
import GatewayCore
import HTTPServing
import HTTPTypes
import StrictJSON

/// `GET /v1/sts/aws/{scope}`: temporary credentials as the AWS SDKs fetch them in a container.
///
/// The path names the bucket and, after a slash, the prefix. The SDKs send `AWS_CONTAINER_AUTHORIZATION_TOKEN` as the
/// whole value of `Authorization`, so that it is either `Bearer` and a token or the token alone.
struct ContainerCredentialsEndpoints: Sendable {
    let useCase: Sessions

    /// Issues credentials.
    @Sendable func issue(_ request: APIRequest, _ caller: Caller) async throws -> ServerResponse {
        try request.allowQuery(["actions", "expiresIn"])
        let (bucket, prefix) = try SessionPlace.parts(of: request.parameter(0))
        let wanted = try SessionRequest.ofSDK(
            bucket, prefix, actions: request.actions("actions"), duration: request.seconds("expiresIn"))
        let issued = try await useCase.issue(wanted, in: request.context(of: caller, opensSession: true))
        let credential = issued.credential
        var response = ServerResponse.json(.ok) { json in
            json.member("AccessKeyId", credential.accessKeyID)
            json.member("SecretAccessKey", credential.secretAccessKey.reveal())
            json.member("Token", credential.sessionToken.reveal())
            json.member("Expiration", credential.expiresAt)
        }
        response.setRateLimit(issued.quotas)
        return response
    }

    /// Reads the token of a request, with or without `Bearer`.
    @Sendable static func credential(of request: APIRequest) throws(GatewayError) -> Secret<String> {
        try BearerToken.token(in: request.headers, mayBeBare: true)
    }

    /// Makes the answer for a refusal: what the SDKs print is `code` and `message`.
    @Sendable static func refusal(_ problem: Problem, _ requestID: String) -> ServerResponse {
        var response = ServerResponse.json(problem.kind.status) { json in
            json.member("code", problem.code)
            json.member("message", problem.detail ?? problem.kind.title)
            json.member("requestID", requestID)
        }
        problem.addHeaders(to: &response)
        return response
    }
}

extension SessionRequest {
    /// Makes a request for credentials that live for at least another quarter of an hour. A client that asks for a life
    /// too short for that gets what is left of it.
    static func ofSDK(
        _ bucket: BucketName, _ prefix: String, actions: Set<Action>? = nil, duration: Int?
    ) throws(GatewayError) -> SessionRequest {
        let duration = duration ?? defaultDuration
        return try SessionRequest(
            bucket: bucket, prefix: prefix, actions: actions, duration: duration, leastLife: leastLifeForSDKs,
            acceptsLess: duration < leastLifeForSDKs + freshness)
    }
}

/// What the credentials of these protocols are for.
enum SessionPlace {
    /// Splits a scope: the bucket, and after a slash the prefix, which may be empty.
    ///
    /// - Throws: ``GatewayError/invalidArgument(field:reason:)`` for `bucket`.
    static func parts(of text: String) throws(GatewayError) -> (bucket: BucketName, prefix: String) {
        let bytes = text.utf8
        let end = bytes.firstIndex(of: UInt8(ascii: "/")) ?? bytes.endIndex
        return (try BucketName(String(text[..<end])), String(Substring(bytes[end...].dropFirst())))
    }
}
