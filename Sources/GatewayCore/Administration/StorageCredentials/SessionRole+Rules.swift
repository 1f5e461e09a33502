import Bytes
import Signing

extension SessionRole {
    /// Validates a role, and normalizes its endpoint to the stored form.
    ///
    /// - Throws: ``GatewayError/invalidArgument(field:reason:)`` with the field's JSON name.
    public func validated() throws(GatewayError) -> SessionRole {
        let form =
            switch service {
            case .alibaba, .alibabaRPC: "acs:ram::<account>:role/<name>"
            case .aws: "arn:<partition>:iam::<account>:role/<name>"
            }
        try require(
            roleARN.consists(of: .visible, count: 1...2048) && hasNameOfRole, "sessionRole.roleARN",
            "A role of this service must have the form '\(form)'.")
        try require(
            region.consists(of: .alphanumeric.union("-"), count: 1...64), "sessionRole.region",
            "The region must be 1 to 64 letters, digits and '-'.")
        try require(
            SessionRole.durations ~= maxDuration, "sessionRole.maxDuration",
            "The duration must be 900 to 43,200 seconds."
        )
        try require(
            externalID?.consists(of: .visible, count: 2...1224) ?? true, "sessionRole.externalID",
            "The external ID must be 2 to 1,224 visible ASCII characters.")
        try checkKey()
        let endpoint = try StoreEndpoint(origin: self.endpoint, "sessionRole.endpoint")
        var role = self
        role.endpoint = "\(endpoint.scheme)://\(endpoint.authority)"
        return role
    }

    private func checkKey() throws(GatewayError) {
        guard kmsKeyARN != nil else { return }
        let field = "sessionRole.kmsKeyARN"
        try require(service == .aws, field, "Only a role of 'aws' can have a key of AWS KMS.")
        guard let key = kmsKey else {
            throw .invalidArgument(
                field: field,
                reason: "The key must have the form 'arn:<partition>:kms:<region>:<account>:key/<id>'.")
        }
        try require(key.partition == partition, field, "The key must be in the partition of the role.")
    }

    /// Whether the name has the form of the service's names. The account may be absent: Ceph's is empty, and SeaweedFS
    /// leaves its field out.
    private var hasNameOfRole: Bool {
        let kind = "role/".utf8
        let fields = roleARN.utf8.split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false)
        guard fields.count >= 5 else { return false }
        let isRole = fields[4...].prefix(2).contains { $0.starts(with: kind) && $0.count > kind.count }
        return switch service {
        case .alibaba, .alibabaRPC:
            fields[0].elementsEqual("acs".utf8) && fields[1].elementsEqual("ram".utf8) && fields[2].isEmpty && isRole
        case .aws:
            fields[0].elementsEqual("arn".utf8) && fields[2].elementsEqual("iam".utf8) && isRole
                && Substring(fields[1]).consists(of: Self.partitionBytes, count: 1...64)
        }
    }
}
