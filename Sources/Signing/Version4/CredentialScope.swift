/// What a "version 4" key is limited to, besides a day: scheme, region and service.
public final class CredentialScope: Sendable {
    let dialect: V4Dialect
    /// Region or location.
    public let region: String
    /// Service or product.
    public let service: String

    private init(dialect: V4Dialect, region: String, service: String) {
        self.dialect = dialect
        self.region = region
        self.service = service
    }

    /// AWS and compatible stores.
    ///
    /// - Parameters:
    ///   - region: Region name such as `eu-west-1`.
    ///   - service: `s3` for object stores, `sts` for temporary credentials.
    public static func aws(region: String, service: String = "s3") -> CredentialScope {
        CredentialScope(dialect: .aws, region: region, service: service)
    }

    /// Alibaba OSS.
    ///
    /// - Parameters:
    ///   - region: Region name such as `cn-hangzhou`, without the prefix `oss-`; for a cloud box, its id.
    ///   - product: `oss`, or `oss-cloudbox`.
    public static func oss(region: String, product: String = "oss") -> CredentialScope {
        CredentialScope(dialect: .oss, region: region, service: product)
    }

    /// Google Cloud Storage with the key of a service account: the access key id is its e-mail address, the secret its
    /// private key in PEM.
    ///
    /// - Parameter location: The bucket's location, or `auto`.
    public static func gcsRSA(location: String = "auto") -> CredentialScope {
        CredentialScope(dialect: .gcsRSA, region: location, service: "storage")
    }

    /// Google Cloud Storage with an HMAC key.
    ///
    /// - Parameter location: The bucket's location, or `auto`.
    public static func gcsHMAC(location: String = "auto") -> CredentialScope {
        CredentialScope(dialect: .gcsHMAC, region: location, service: "storage")
    }
}
