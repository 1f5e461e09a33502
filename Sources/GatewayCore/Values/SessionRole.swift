/// The role that a storage credential assumes to open sessions, and the service that opens them.
///
/// The JSON form is the API's and the database's.
public struct SessionRole: Sendable, Hashable, Codable {
    /// The services by protocol and signature.
    public enum Service: String, Sendable, CaseIterable, Codable {
        /// Alibaba Cloud STS with ACS3-HMAC-SHA256.
        case alibaba
        /// Alibaba Cloud STS with the older RPC signature.
        case alibabaRPC = "alibaba-rpc"
        /// AWS STS, and compatible services such as Ceph's.
        case aws
    }

    /// Lives that services give to a session, in seconds.
    public static let durations = 900...43_200

    /// Name of the role, such as `acs:ram::1234567890123456:role/uploader`.
    public var roleARN: String
    /// The service's protocol.
    public var service: Service
    /// Origin of the service, `https://host[:port]`.
    public var endpoint: String
    /// Region of the service's signatures, where they have one.
    public var region: String
    /// Longest session that the role allows, in seconds; 900…43,200.
    public var maxDuration: Int
    /// What the role's owner demands of strangers.
    public var externalID: String?

    /// Puts a role together.
    public init(
        roleARN: String, service: Service, endpoint: String, region: String, maxDuration: Int = 3600,
        externalID: String? = nil
    ) {
        self.roleARN = roleARN
        self.service = service
        self.endpoint = endpoint
        self.region = region
        self.maxDuration = maxDuration
        self.externalID = externalID
    }

    /// The language of the role's session policies.
    public var dialect: SessionPolicyDialect {
        switch service {
        case .alibaba, .alibabaRPC: .alibaba
        case .aws: .aws
        }
    }
}

/// The languages of session policies.
public enum SessionPolicyDialect: String, Sendable, CaseIterable {
    /// Alibaba Cloud RAM, version "1".
    case alibaba
    /// AWS IAM, version "2012-10-17"; Ceph reads it too.
    case aws

    /// Most characters of a session policy at either.
    public static let maxCharacters = 2048
}
