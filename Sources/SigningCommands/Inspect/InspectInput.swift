import Signing

/// One line of `sluice inspect`: a string that a client wants signed.
struct InspectInput: Decodable {
    let name: String
    let scheme: Scheme?
    let now: String
    let maxPresignTTL: Int
    let stringToSign: String
    let securityToken: String?
    let canonicalRequest: String?
    let endpoint: String?
    let bucket: String?
    let addressing: Addressing?
    let region: String?
    let accessKeyID: String?

    /// The schemes whose strings can be inspected.
    enum Scheme: String, Decodable, CaseIterable {
        case ossV1 = "oss-v1"
        case awsV2 = "aws-v2"
        case gcsV2HMAC = "gcs-v2-hmac"
        case ossV4 = "oss-v4"
        case awsV4 = "aws-v4"
    }

    enum CodingKeys: String, CodingKey {
        case name, scheme, now, endpoint, bucket, addressing, region
        case maxPresignTTL = "max_presign_ttl"
        case stringToSign = "string_to_sign"
        case securityToken = "security_token"
        case canonicalRequest = "canonical_request"
        case accessKeyID = "access_key_id"
    }

    /// The vendor whose header names the string uses.
    var vendor: StoreVendor {
        switch scheme ?? .ossV1 {
        case .ossV1, .ossV4: .alibaba
        case .awsV2, .awsV4: .amazon
        case .gcsV2HMAC: .google
        }
    }

    /// The rules that the string must obey.
    var rules: StringRules {
        get throws(LineFailure) {
            guard let now = SigningInstant(extended: self.now) else {
                throw LineFailure(code: "InvalidInput", detail: "'now' is not a time like 2024-05-17T08:30:00Z.")
            }
            return StringRules(now: now, maxLifeSeconds: maxPresignTTL, securityToken: securityToken)
        }
    }

    /// The signer, for a scheme that signs a hash of the request; `nil` for a scheme that signs the request itself.
    ///
    /// - Throws: `LineFailure` if an input is absent, `SigningError` if one is not valid.
    var signer: ReceivedCanonicalRequest.Signer? {
        get throws {
            guard scheme == .ossV4 || scheme == .awsV4 else { return nil }
            let region = try required(region, .region)
            return ReceivedCanonicalRequest.Signer(
                address: try BucketAddress(
                    endpoint: StoreEndpoint(required(endpoint, .endpoint)), bucket: required(bucket, .bucket),
                    addressing: required(addressing, .addressing)),
                scope: scope(region),
                accessKeyID: try required(accessKeyID, .accessKeyID))
        }
    }

    private func scope(_ region: String) -> CredentialScope {
        scheme == .ossV4 ? .oss(region: region) : .aws(region: region)
    }

    private func required<Value>(_ value: Value?, _ name: CodingKeys) throws(LineFailure) -> Value {
        guard let value else { throw LineFailure(code: "InvalidInput", detail: "'\(name.rawValue)' is absent.") }
        return value
    }
}

extension Addressing: Decodable {}
