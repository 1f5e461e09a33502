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
        /// When the session ends.
        public let expiration: Date
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

    /// Fetches temporary credentials for an OSS SDK. They live for an hour unless the bucket allows less.
    ///
    /// - Parameters:
    ///   - bucket: the bucket.
    ///   - prefix: what the credentials cover: empty for all of the bucket, or with `/` at its end.
    public func ossCredentials(bucket: String, prefix: String = "") async throws -> OSSCredentials {
        let query = "bucket=\(bucket.queryEscaped)" + (prefix.isEmpty ? "" : "&prefix=\(prefix.queryEscaped)")
        // A refusal has the status 200 as well.
        let body: CredentialsBody = try await call("GET", "/v1/sts/oss?\(query)", Nothing?.none)
        guard body.statusCode == 200, let accessKeyID = body.accessKeyID, let secret = body.accessKeySecret,
            let token = body.securityToken, let expiration = body.expiration
        else {
            throw SluiceError(
                .gateway, ErrorCode(body.errorCode ?? body.code), status: body.statusCode, detail: body.errorMessage)
        }
        return OSSCredentials(
            accessKeyID: accessKeyID, accessKeySecret: secret, securityToken: token, expiration: expiration)
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

private struct SignatureRequest: Encodable, Sendable {
    let content: String
    let canonicalRequest: String?
}

/// The body of the CredentialsURI protocol.
private struct CredentialsBody: Decodable, Sendable {
    let statusCode: Int
    let code: String
    let accessKeyID: String?
    let accessKeySecret: String?
    let securityToken: String?
    let expiration: Date?
    let errorCode: String?
    let errorMessage: String?

    private enum CodingKeys: String, CodingKey {
        case statusCode = "StatusCode"
        case code = "Code"
        case accessKeyID = "AccessKeyId"
        case accessKeySecret = "AccessKeySecret"
        case securityToken = "SecurityToken"
        case expiration = "Expiration"
        case errorCode = "ErrorCode"
        case errorMessage = "ErrorMessage"
    }
}
