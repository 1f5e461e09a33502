import FoundationEssentials
import GatewayCore
import HTTPServing
import HTTPTypes
import StrictJSON

/// `/admin/v1/buckets/{bucket}/event-secret`.
struct EventSecretEndpoints: Sendable {
    let useCase: EventSecrets

    /// Makes or rotates the secret. The answer shows it, once.
    @Sendable func rotate(_ request: APIRequest, _ caller: Caller) async throws -> ServerResponse {
        try request.allowQuery([])
        let overlap = try RotationOverlap(request)
        let made = try await useCase.rotate(request.bucketName(), overlap: overlap, by: caller.change(in: request))
        return .json(.created) { json in
            made.secret.write(to: &json)
            json.member("secret", made.text.reveal())
        }
    }

    /// Shows what is known about the secret, but not the secret itself.
    @Sendable func get(_ request: APIRequest, _ caller: Caller) async throws -> ServerResponse {
        try request.allowQuery([])
        let secret = try await useCase.secret(of: request.bucketName())
        return .json(.ok) { secret.write(to: &$0) }
    }

    /// Removes the secret and its predecessor.
    @Sendable func delete(_ request: APIRequest, _ caller: Caller) async throws -> ServerResponse {
        try request.allowQuery([])
        try await useCase.remove(of: request.bucketName(), by: caller.change(in: request))
        return .noContent
    }
}

extension EventSecret {
    fileprivate func write(to json: inout JSONWriter) {
        json.member("bucket", bucket.rawValue)
        json.member("name", name)
        json.member("createdAt", createdAt)
        json.member("previousExpiresAt", previousUntil)
    }
}
