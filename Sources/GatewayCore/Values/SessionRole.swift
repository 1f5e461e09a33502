import Bytes

/// The role that a storage credential assumes to open sessions, and the service that opens them.
///
/// The API and the database share this JSON form.
public struct SessionRole: Sendable, Hashable, Codable {
    /// The supported services, by protocol and signature.
    public enum Service: String, Sendable, CaseIterable, Codable {
        /// Alibaba Cloud STS with ACS3-HMAC-SHA256.
        case alibaba
        /// Alibaba Cloud STS with the older RPC signature.
        case alibabaRPC = "alibaba-rpc"
        /// AWS STS, and compatible services such as Ceph's.
        case aws
    }

    /// Session lifetimes that the services accept, in seconds.
    public static let durations = 900...43_200

    /// Name of the role, such as `acs:ram::1234567890123456:role/uploader`.
    public var roleARN: String
    /// The service that opens the sessions.
    public var service: Service
    /// Origin of the service, `https://host[:port]`.
    public var endpoint: String
    /// Region in the service's signatures, if they contain one.
    public var region: String
    /// Longest session that the role permits, in seconds; 900…43,200.
    public var maxDuration: Int
    /// The external ID that the role's owner demands of other accounts, if any.
    public var externalID: String?
    /// Name of the AWS KMS key that encrypts the objects, `arn:<partition>:kms:<region>:<account>:key/<id>`; `nil` if
    /// sessions need no key.
    public var kmsKeyARN: String?

    /// Creates a session role.
    public init(
        roleARN: String, service: Service, endpoint: String, region: String, maxDuration: Int = 3600,
        externalID: String? = nil, kmsKeyARN: String? = nil
    ) {
        self.roleARN = roleARN
        self.service = service
        self.endpoint = endpoint
        self.region = region
        self.maxDuration = maxDuration
        self.externalID = externalID
        self.kmsKeyARN = kmsKeyARN
    }

    /// The language of the role's session policies.
    public var dialect: SessionPolicyDialect {
        switch service {
        case .alibaba, .alibabaRPC: .alibaba
        case .aws: .aws
        }
    }

    /// The partition of AWS in which the role and its buckets are: `aws`, `aws-cn`, `aws-us-gov` or a later one. AWS
    /// refuses a policy that names a resource in another. Compatible stores name all buckets in `aws`, also where they
    /// name roles otherwise, as MinIO does.
    /// - SeeAlso: AWS, "Identify AWS resources with Amazon Resource Names (ARNs)", "partition".
    public var partition: String {
        let fields = roleARN.utf8.split(separator: UInt8(ascii: ":"), maxSplits: 2, omittingEmptySubsequences: false)
        guard fields.count == 3, fields[0].elementsEqual("arn".utf8), fields[1].starts(with: "aws-".utf8),
            case let name = Substring(fields[1]), name.consists(of: Self.partitionBytes, count: 1...64)
        else { return Self.mainPartition }
        return String(name)
    }

    /// The key that session policies name.
    var kmsKey: KMSKey? { kmsKeyARN.flatMap { KMSKey($0) } }

    /// The partition of the regions outside China and GovCloud.
    static let mainPartition = "aws"
    static let partitionBytes = ByteSet.lowerAlphanumeric.union("-")
}

/// The languages of session policies.
public enum SessionPolicyDialect: String, Sendable, CaseIterable {
    /// Alibaba Cloud RAM, version "1".
    case alibaba
    /// AWS IAM, version "2012-10-17"; Ceph accepts it too.
    case aws

    /// Largest length of a session policy, in characters, for both languages.
    static let maxCharacters = 2048
}
