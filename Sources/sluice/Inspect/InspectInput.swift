import Signing

/// One line of `sluice inspect`: a string that a client wants signed.
struct InspectInput: Decodable {
    let name: String
    let scheme: Scheme?
    let now: String
    let maxPresignTTL: Int
    let stringToSign: String
    let securityToken: String?

    /// The schemes whose strings are inspected.
    enum Scheme: String, Decodable, CaseIterable {
        case ossV1 = "oss-v1"
        case awsV2 = "aws-v2"
        case gcsV2HMAC = "gcs-v2-hmac"
    }

    enum CodingKeys: String, CodingKey {
        case name, scheme, now
        case maxPresignTTL = "max_presign_ttl"
        case stringToSign = "string_to_sign"
        case securityToken = "security_token"
    }

    /// Whose words the string uses.
    var vendor: StoreVendor {
        switch scheme ?? .ossV1 {
        case .ossV1: .alibaba
        case .awsV2: .amazon
        case .gcsV2HMAC: .google
        }
    }
}
