public import Foundation

extension Sluice {
    /// Temporary credentials for a part of a bucket, in the words of the OSS SDKs.
    public struct OSSCredentials: Sendable {
        /// The access key.
        public let accessKeyID: String
        /// The secret of the access key.
        public let accessKeySecret: String
        /// The token of the session, which goes with each request.
        public let securityToken: String
        /// When the session ends, by the clock of the gateway.
        public let expiration: Date
        /// When the gateway answered, by its clock.
        let date: Date?
    }

    /// A signature that the gateway made.
    public struct OSSSignature: Sendable, Decodable {
        /// Identifies the signature in the ledger.
        public let id: String
        /// The access key that belongs to the secret.
        public let accessKeyID: String
        /// The signature: in base64, or in hexadecimal for version 4.
        public let signature: String
        /// The value of `Authorization`. Absent for version 4.
        public let authorization: String?
    }

    /// Fetches temporary credentials for an OSS SDK. They live for an hour unless the bucket allows less. Each call is
    /// recorded and counts as a URL; ``OSSCredentialsCache`` calls once for many requests.
    ///
    /// - Parameters:
    ///   - bucket: the bucket.
    ///   - prefix: what the credentials cover: empty for all of the bucket, or with `/` at its end.
    public func ossCredentials(bucket: String, prefix: String = "") async throws -> OSSCredentials {
        // `GET /v1/sts/oss` answers refusals with 200 as well, for SDKs that read nothing else.
        let (session, date): (Session, Date?) = try await datedCall(
            "POST", "/v1/sts", SessionRequest(bucket: bucket, prefix: prefix))
        return OSSCredentials(
            accessKeyID: session.credentials.accessKeyID, accessKeySecret: session.credentials.secretAccessKey,
            securityToken: session.credentials.sessionToken, expiration: session.expiresAt, date: date)
    }

    /// Has a string signed for an OSS SDK in self-signed mode.
    ///
    /// - Parameters:
    ///   - content: the string to sign.
    ///   - canonicalRequest: the request whose hash is in a string of version 4. Version 1 has none.
    public func ossSignature(of content: String, canonicalRequest: String? = nil) async throws -> OSSSignature {
        try await call(
            "POST", "/v1/signatures/oss", SignatureRequest(content: content, canonicalRequest: canonicalRequest))
    }
}

private struct SessionRequest: Encodable, Sendable {
    let bucket: String
    let prefix: String
}

private struct Session: Decodable, Sendable {
    struct Credentials: Decodable, Sendable {
        let accessKeyID: String
        let secretAccessKey: String
        let sessionToken: String
    }

    let credentials: Credentials
    let expiresAt: Date
}

private struct SignatureRequest: Encodable, Sendable {
    let content: String
    let canonicalRequest: String?
}
