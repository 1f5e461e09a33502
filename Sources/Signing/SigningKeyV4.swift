import LibCrypto

/// A credential narrowed to one day, region and service: the derived key, and the texts that go with it into each URL.
///
/// - SeeAlso: AWS, "Create a signed AWS API request", step 4.
public struct SigningKeyV4: Sendable {
    /// Days since 1970 of the day that the key is for.
    public let dayNumber: Int
    /// `day/region/service/aws4_request`.
    public let scope: String

    let hmac: HMACKey
    let accessKeyID: String
    /// Percent-encoded `access key id/scope`.
    let encodedCredential: [UInt8]
    /// Percent-encoded token of temporary credentials.
    let encodedSecurityToken: [UInt8]?

    /// Derives the key: HMAC over day, region, service and terminator in turn.
    ///
    /// - Parameters:
    ///   - credential: Whose key.
    ///   - region: Region name such as `eu-west-1`.
    ///   - service: `s3` for object stores.
    ///   - instant: Any instant of the day, in UTC.
    /// - Throws: ``SigningError/invalidScope(_:)`` when the access key id, region or service is empty, or would be read as
    ///   something else between the slashes of the scope.
    public init(
        _ credential: SigningCredential, region: String, service: String, at instant: SigningInstant
    ) throws(SigningError) {
        try self.init(credential, region: region, service: service, at: instant, dialect: .aws)
    }

    init(
        _ credential: SigningCredential, region: String, service: String, at instant: SigningInstant, dialect: V4Dialect
    ) throws(SigningError) {
        for (label, text) in [("access key id", credential.accessKeyID), ("region", region), ("service", service)] {
            guard !text.isEmpty else { throw .invalidScope("the \(label) is empty") }
            guard text.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7F && $0 != UInt8(ascii: "/") }) else {
                throw .invalidScope("the \(label) holds a slash, white space or a control character")
            }
        }
        let day = instant.day
        dayNumber = instant.dayNumber
        scope = "\(day)/\(region)/\(service)/\(dialect.terminator)"
        var key = Array((dialect.secretPrefix + credential.secretAccessKey).utf8)
        for part in [day, region, service, dialect.terminator] {
            key = HMACKey(key, algorithm: .sha256).authenticationCode(for: Array(part.utf8)).bytes
        }
        hmac = HMACKey(key, algorithm: .sha256)
        accessKeyID = credential.accessKeyID
        encodedCredential = PercentEncoding.encode(
            "\(credential.accessKeyID)/\(scope)", keeping: PercentEncoding.unreserved
        )
        encodedSecurityToken = credential.securityToken.map {
            PercentEncoding.encode($0, keeping: PercentEncoding.unreserved)
        }
    }
}
