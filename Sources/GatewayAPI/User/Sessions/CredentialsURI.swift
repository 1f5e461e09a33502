import Bytes
import FoundationEssentials
import GatewayCore
import HTTPServing
import HTTPTypes
import LibCrypto
import StrictJSON

/// The CredentialsURI protocol: the form of answer that Alibaba Cloud's clients expect from a URL that serves
/// credentials. These clients are the OSS SDKs for iOS, Android and JavaScript, and Alibaba Cloud's credentials
/// libraries and command line, which look only at `Code`.
///
/// One client ignores the status, and another reads no body unless the status is below 400. So every answer has status
/// 200, and the body tells the rest. The clients crash on `null` and cannot read fractions of a second.
enum CredentialsURI {
    /// Largest number of omissions that one answer lists.
    private static let maxOmissions = 8

    /// Makes the body with credentials. A member that clients ignore lists what the credentials do not permit.
    static func body(of issued: IssuedSession) -> [UInt8] {
        let credential = issued.credential
        var omissions = issued.omissions.prefix(maxOmissions).map { $0.text(in: issued.bucket.name) }
        if issued.omissions.count > maxOmissions {
            omissions.append("\(issued.omissions.count - maxOmissions) more: POST /v1/sts names all of them.")
        }
        var json = JSONWriter()
        json.object { json in
            json.member("StatusCode", 200)
            json.member("Code", "Success")
            json.member("AccessKeyId", credential.accessKeyID)
            json.member("AccessKeySecret", credential.secretAccessKey.reveal())
            json.member("SecurityToken", credential.sessionToken.reveal())
            json.member("Expiration", credential.expiresAt)
            if !omissions.isEmpty { json.member("StatusMessage", omissions.joined(separator: " ")) }
        }
        return json.bytes
    }

    private static func body(of problem: Problem) -> [UInt8] {
        var json = JSONWriter()
        json.object { json in
            json.member("StatusCode", problem.kind.status.code)
            json.member("Code", problem.code)
            json.member("ErrorCode", problem.code)
            json.member("ErrorMessage", problem.detail ?? problem.kind.title)
        }
        return json.bytes
    }

    /// Makes the answer for a refusal.
    @Sendable static func refusal(_ problem: Problem, _: String) -> ServerResponse { response(body(of: problem)) }

    /// Makes the answer with an unencrypted body.
    static func response(_ body: [UInt8]) -> ServerResponse {
        response(body, type: "application/json")
    }

    /// Makes the answer with a body that only the app can read: a JWE in compact form, `dir` and `A256GCM` (RFC 7516).
    static func response(_ body: [UInt8], encryptedWith key: Secret<[UInt8]>) throws -> ServerResponse {
        let header = Base64URL.encode(Array(#"{"alg":"dir","enc":"A256GCM"}"#.utf8))
        let sealed = try AESGCMKey(key.reveal()).seal(body, authenticating: Array(header.utf8))
        let parts = [
            sealed.prefix(AESGCMKey.nonceByteCount),
            sealed.dropFirst(AESGCMKey.nonceByteCount).dropLast(AESGCMKey.tagByteCount),
            sealed.suffix(AESGCMKey.tagByteCount),
        ]
        // The second part would be the encrypted key, which `dir` does not have.
        let text = ([header, ""] + parts.map { Base64URL.encode(Array($0)) }).joined(separator: ".")
        return response(Array(text.utf8), type: "application/jose")
    }

    private static func response(_ body: [UInt8], type: String) -> ServerResponse {
        ServerResponse(
            head: ResponseHead(status: .ok, headerFields: [.contentType: type, .cacheControl: "no-store"]),
            body: .bytes(body))
    }
}

extension SessionOmission {
    /// The reason, in the words of a refusal.
    var reasonText: String {
        guard reason != .accessDenied else { return "No grant permits the action." }
        let problem = Problem(reason)
        return problem.detail ?? problem.kind.title
    }

    /// A sentence for human readers.
    fileprivate func text(in bucket: BucketName) -> String {
        let place = prefix.rawValue.isEmpty ? "on '\(bucket)'" : "on '\(bucket)' below '\(prefix.rawValue)'"
        return "Not granted: \(action.rawValue) \(place). \(reasonText)"
    }
}
