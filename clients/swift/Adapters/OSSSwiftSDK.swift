// For apps that use Alibaba's SDK for Swift (`alibabacloud-oss-swift-sdk-v2`) beside SluiceClient. Copy this file into
// the app: it is no part of the package, which does without the SDK. This project's checks parse it, and the app
// compiles it.
//
//     let oss = Client(.sluice(client, region: "cn-hangzhou", bucket: "app-photos", prefix: "users/alice/"))
//     let oss = Client(.sluiceSigned(client, region: "cn-hangzhou"))

import AlibabaCloudOSS
import CryptoKit
import Foundation
import SluiceClient

/// Temporary credentials of the gateway. The SDK asks for them before each request, so they are kept until shortly
/// before they end.
struct SluiceCredentialsProvider: CredentialsProvider {
    let cache: OSSCredentialsCache

    func getCredentials() async throws -> Credentials {
        let found = try await cache.credentials()
        return Credentials(
            accessKeyId: found.accessKeyID, accessKeySecret: found.accessKeySecret,
            securityToken: found.securityToken, expiration: found.expiration)
    }
}

/// Self-signed mode: each request for an object is signed by the gateway, with version 4. The app holds no secret.
///
/// A string to sign of version 4 holds only a hash of the request. The SDK's `SignatureDelegate` does not see the
/// request, and the gateway signs none that it has not read. So this is a signer, which makes both.
struct SluiceSigner: Signer {
    let client: Sluice

    func sign(request: RequestMessage, signingContext: inout SigningContext) async throws -> RequestMessage {
        // Objects only. Presigned URLs are asked for with `Sluice.link(_:)`.
        guard signingContext.authHeader, let bucket = signingContext.bucket, let key = signingContext.key else {
            throw CocoaError(.featureUnsupported)
        }
        let time = Self.text(of: signingContext.signTime ?? Date().addingTimeInterval(signingContext.clockOffset ?? 0))
        let scope =
            "\(time.prefix(8))/\(signingContext.region ?? "")/\(signingContext.product ?? "oss")/aliyun_v4_request"
        var signed = request
        signed.headers["x-oss-content-sha256"] = "UNSIGNED-PAYLOAD"
        signed.headers["x-oss-date"] = time
        let wanted = Set((signingContext.additionalHeaderNames ?? []).map { $0.lowercased() })
        let canonical = Self.canonicalRequest(signed, path: "/\(bucket)/\(key)", additional: wanted)

        let hash = SHA256.hash(data: Data(canonical.text.utf8)).map { String(format: "%02x", $0) }.joined()
        let content = "OSS4-HMAC-SHA256\n\(time)\n\(scope)\n\(hash)"
        let answer = try await client.ossSignature(of: content, canonicalRequest: canonical.text)
        let names = canonical.additional.isEmpty ? "" : ",AdditionalHeaders=\(canonical.additional)"
        // The access key is that of the answer, so apps follow a rotated key.
        signed.headers["Authorization"] =
            "OSS4-HMAC-SHA256 Credential=\(answer.accessKeyID)/\(scope)\(names),Signature=\(answer.signature)"
        signingContext.stringToSign = content
        return signed
    }

    private static func canonicalRequest(
        _ request: RequestMessage, path: String, additional wanted: Set<String>
    ) -> (text: String, additional: String) {
        let headers = Dictionary(request.headers.map { ($0.lowercased(), $1) }) { $1 }
        func isAlwaysSigned(_ name: String) -> Bool {
            ["content-md5", "content-type"].contains(name) || name.hasPrefix("x-oss-")
        }
        let others = wanted.filter { !isAlwaysSigned($0) && headers[$0] != nil }
        let fields = headers.filter { isAlwaysSigned($0.key) || others.contains($0.key) }.sorted { $0.key < $1.key }
            .map { "\($0.key):\($0.value.trimmingCharacters(in: .whitespaces))\n" }.joined()
        let items = URLComponents(url: request.requestUri, resolvingAgainstBaseURL: false)?.queryItems ?? []
        let query = items.map { (encode($0.name), encode($0.value ?? "")) }.sorted { $0.0 < $1.0 }
            .map { $1.isEmpty ? $0 : "\($0)=\($1)" }.joined(separator: "&")
        let names = others.sorted().joined(separator: ";")
        let lines = [request.method.uppercased(), encode(path, keeping: "/"), query, fields, names, "UNSIGNED-PAYLOAD"]
        return (lines.joined(separator: "\n"), names)
    }

    private static func text(of time: Date) -> String {
        let formatter = DateFormatter()
        formatter.locale = Locale(identifier: "en_US_POSIX")
        formatter.timeZone = TimeZone(identifier: "UTC")
        formatter.dateFormat = "yyyyMMdd'T'HHmmss'Z'"
        return formatter.string(from: time)
    }

    private static func encode(_ text: String, keeping others: String = "") -> String {
        let letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"
        return text.addingPercentEncoding(withAllowedCharacters: CharacterSet(charactersIn: letters + others)) ?? ""
    }
}

extension Configuration {
    /// Works with temporary credentials for a part of a bucket.
    ///
    /// - Parameter prefix: what the app may use of the bucket; empty for all of it.
    static func sluice(_ client: Sluice, region: String, bucket: String, prefix: String) -> Configuration {
        let cache = OSSCredentialsCache(client, bucket: bucket, prefix: prefix)
        return Configuration.default().withRegion(region)
            .withCredentialsProvider(SluiceCredentialsProvider(cache: cache))
    }

    /// Has each request signed.
    static func sluiceSigned(_ client: Sluice, region: String) -> Configuration {
        // The SDK requires credentials; it never uses these.
        Configuration.default().withRegion(region).withSigner(SluiceSigner(client: client))
            .withCredentialsProvider(StaticCredentialsProvider(accessKeyId: "none", accessKeySecret: "none"))
    }
}
