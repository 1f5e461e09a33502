import LibCrypto
import Signing

/// A URL to sign by one scheme, and the hash work that nobody could leave out.
struct SigningWorkloads {
    static let schemes = [
        "aws-v4-query", "oss-v4-query", "gcs-v4-hmac-query", "gcs-v4-rsa-query", "aws-v2-query", "oss-v1-query",
        "gcs-v2-rsa-query",
    ]

    /// `SCHEME/url` and `SCHEME/hashes`.
    static let names = schemes.flatMap { ["\($0)/url", "\($0)/hashes"] }

    /// Signs and answers the length of the URL.
    let url: () throws -> Int
    /// Hashes what the URL's signature hashes, with keys prepared alike, and answers the length of the result.
    let hashes: () throws -> Int

    /// Prepares a scheme of ``schemes``.
    init(scheme: String, privateKey: String) throws {
        let instant = SigningInstant(clampingEpochSeconds: 1_715_934_600)
        let request = try Self.request()
        let isRSA = scheme.contains("rsa")
        let credential = SigningCredential(
            accessKeyID: isRSA ? "signer@project.iam.gserviceaccount.com" : "AKIDEXAMPLE0123456789",
            secretAccessKey: isRSA ? privateKey : "example/of+a/secret0123456789abcdefABCDEF"
        )
        switch scheme {
        case "aws-v4-query", "oss-v4-query", "gcs-v4-hmac-query", "gcs-v4-rsa-query":
            self = try Self.version4(scheme, request, instant, credential)
        case "aws-v2-query":
            let key = try SigningKeyV2(credential)
            self.init(
                stages: try AWSV2.presign(request, with: key, at: instant), key: .sha1(credential),
                url: { try AWSV2.presignedURL(request, with: key, at: instant) })
        case "oss-v1-query":
            let key = try SigningKeyV2(credential)
            self.init(
                stages: try OSSV1.presign(request, with: key, at: instant), key: .sha1(credential),
                url: { try OSSV1.presignedURL(request, with: key, at: instant) })
        case "gcs-v2-rsa-query":
            let key = try SigningKeyV2(serviceAccount: credential)
            self.init(
                stages: try GCSV2.presign(request, with: key, at: instant), key: try .rsa(credential),
                url: { try GCSV2.presignedURL(request, with: key, at: instant) })
        default: throw UsageError(description: "no scheme '\(scheme)'")
        }
    }

    /// The key of the bare hash work.
    private enum Key {
        case hmac(HMACKey)
        case rsa(RSAPrivateKey)

        static func sha1(_ credential: SigningCredential) -> Key {
            .hmac(HMACKey(Array(credential.secretAccessKey.utf8), algorithm: .sha1))
        }

        static func sha256(_ credential: SigningCredential) -> Key {
            .hmac(HMACKey(Array(credential.secretAccessKey.utf8), algorithm: .sha256))
        }

        static func rsa(_ credential: SigningCredential) throws -> Key {
            .rsa(try RSAPrivateKey(pem: credential.secretAccessKey))
        }
    }

    private init(stages: PresignedURL, key: Key, url: @escaping () throws -> String) {
        let canonicalRequest = Array(stages.canonicalRequest.utf8)
        let stringToSign = Array(stages.stringToSign.utf8)
        self.url = { try url().utf8.count }
        hashes = {
            // In place, which is the cheapest form.
            var digest = Digest()
            var count = 0
            if !canonicalRequest.isEmpty {
                DigestAlgorithm.sha256.hash(canonicalRequest.span, into: &digest)
                count += digest.byteCount
            }
            switch key {
            case .hmac(let key):
                key.authenticate(stringToSign.span, into: &digest)
                count += digest.byteCount
            case .rsa(let key): count += try key.signature(of: stringToSign).count
            }
            return count
        }
    }

    private static func version4(
        _ scheme: String, _ request: PresignRequest, _ instant: SigningInstant, _ credential: SigningCredential
    ) throws -> SigningWorkloads {
        let secret: Key = try scheme.contains("rsa") ? .rsa(credential) : .sha256(credential)
        let scope: CredentialScope =
            switch scheme {
            case "aws-v4-query": .aws(region: "eu-west-1")
            case "oss-v4-query": .oss(region: "cn-hangzhou")
            case "gcs-v4-hmac-query": .gcsHMAC()
            default: .gcsRSA()
            }
        // One for each bucket, as in the gateway.
        let presigner = V4Presigner(credential, scope: scope)
        let key = try presigner.key(at: instant)
        let stages =
            switch scheme {
            case "aws-v4-query": try AWSV4.presign(request, with: key, at: instant)
            case "oss-v4-query": try OSSV4.presign(request, with: key, at: instant)
            default: try GCSV4.presign(request, with: key, at: instant)
            }
        return SigningWorkloads(stages: stages, key: secret) { try presigner.url(for: request, at: instant) }
    }

    private static func request() throws -> PresignRequest {
        PresignRequest(
            method: "PUT",
            address: try BucketAddress(
                endpoint: StoreEndpoint("https://store.example.com"), bucket: "demo-bucket", addressing: .virtual),
            key: "users/42/photos/2024/IMG_0001.jpg",
            headers: [
                NamedValue("content-type", "image/jpeg"), NamedValue("content-md5", "1B2M2Y8AsgTpgAmY7PhCfg=="),
            ],
            expiresInSeconds: 900
        )
    }
}
