import FoundationEssentials
import GatewayCore
import HTTPServing
import HTTPTypes
import StrictJSON

/// `/v1/events/s3` and `/v1/events/oss`, which stores call.
struct StoreEventEndpoints: Sendable {
    /// Body limit in bytes: the size of 1,000 events as the stores write them.
    static let maxBodyBytes = 2 << 20

    let useCase: StoreEvents
    let metrics: RequestMetrics

    /// Receives notifications of S3 and compatible stores, also in the envelope of SNS.
    @Sendable func s3(_ request: APIRequest) async throws -> ServerResponse {
        try await take(request) { (bytes) throws(GatewayError) in try S3Notification.events(in: bytes) }
    }

    /// Receives notifications and callbacks of Alibaba OSS. A callback without a secret is accepted by its signature.
    @Sendable func oss(_ request: APIRequest) async throws -> ServerResponse {
        if try request.query("secret") == nil, let keyURL = request.headers[.ossPublicKeyURL] {
            return try await hint(request, keyURL: keyURL)
        }
        return try await take(request) { (bytes) throws(GatewayError) in
            try OSSNotification.events(in: bytes, receivedAt: useCase.now())
        }
    }

    /// Body limit of a signed callback, in bytes, as the refusal states it. An app's own template makes the body.
    private static let maxHintBytes: Int64 = 16_384

    /// Receives a callback that is signed with a key of OSS. The answer does not say whether the callback was of use:
    /// anybody can have a callback signed, and could learn which buckets there are and which objects they hold.
    private func hint(_ request: APIRequest, keyURL: String) async throws -> ServerResponse {
        try request.allowQuery([])
        guard !request.headers.nameContentCoding else { throw APIError.unsupportedContentCoding }
        // A body that was not collected is long, and is not read for an unknown caller.
        guard case .collected(let bytes) = request.body else {
            throw ServerFailure.contentTooLarge(maxBytes: Self.maxHintBytes)
        }
        let signature = request.headers[.authorization] ?? ""
        let target = request.match.target.map {
            "/" + $0.segments.joined(separator: "/") + ($0.rawQuery.map { "?" + $0 } ?? "")
        }
        let message = Array((target ?? "").utf8) + [0x0a] + bytes
        try await useCase.verify(message, signature: signature, keyURL: keyURL)
        let events = try OSSNotification.events(in: bytes, receivedAt: useCase.now())
        var noted = 0
        for event in events.prefix(1) {
            if try await useCase.take(hint: event, signedIn: message) { noted += 1 }
        }
        metrics.took(noted: noted, ignored: events.count - noted)
        return .json(.ok) { json in
            json.member("noted", 0)
            json.member("ignored", 0)
        }
    }

    private func take(
        _ request: APIRequest, _ read: ([UInt8]) throws(GatewayError) -> [StoreEvent]
    ) async throws -> ServerResponse {
        // Only a caller with the secret learns what is wrong with a message.
        let bucket = try await useCase.bucket(of: Self.secret(in: request))
        try request.allowQuery(["secret"])
        guard case .collected(let bytes) = try await request.withBody().body else {
            preconditionFailure("Events are collected.")
        }
        let events = try read(bytes)
        let noted = try await useCase.note(events, in: bucket)
        metrics.took(noted: noted, ignored: events.count - noted)
        return .json(.ok) { json in
            json.member("noted", noted)
            json.member("ignored", events.count - noted)
        }
    }

    /// Reads the secret from the query, or from exactly one `Authorization` field: a bearer token, or the password of
    /// Basic. The query has precedence, because OSS puts the signature of its callbacks into that field.
    private static func secret(in request: APIRequest) throws(GatewayError) -> Secret<String> {
        if let secret = try request.query("secret") { return Secret(secret) }
        return try BasicToken.token(in: request.headers)
    }
}
