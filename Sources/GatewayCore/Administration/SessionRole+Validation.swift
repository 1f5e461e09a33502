import Bytes
import Signing

extension SessionRole {
    /// Validates a role, and normalizes its endpoint to the stored form.
    ///
    /// - Throws: ``GatewayError/invalidArgument(field:reason:)`` with the field's JSON name.
    public func validated() throws(GatewayError) -> SessionRole {
        let (prefix, form) =
            switch service {
            case .alibaba, .alibabaRPC: ("acs:ram::", "acs:ram::<account>:role/<name>")
            case .aws: ("arn:", "arn:aws:iam::<account>:role/<name>")
            }
        try require(
            roleARN.consists(of: .visible, count: 1...2048) && roleARN.hasPrefix(prefix) && roleARN.contains(":role/"),
            "sessionRole.roleARN", "A role of this service must have the form '\(form)'.")
        try require(
            region.consists(of: .alphanumeric.union("-"), count: 1...64), "sessionRole.region",
            "The region must be 1 to 64 letters, digits and '-'.")
        try require(
            SessionRole.durations ~= maxDuration, "sessionRole.maxDuration",
            "The duration must be 900 to 43,200 "
                + "seconds."
        )
        try require(
            externalID?.consists(of: .visible, count: 2...1224) ?? true, "sessionRole.externalID",
            "The external ID must be 2 to 1,224 visible ASCII characters.")
        guard let endpoint = try? StoreEndpoint(self.endpoint), endpoint.path.isEmpty else {
            throw .invalidArgument(
                field: "sessionRole.endpoint", reason: "The endpoint must be 'http(s)://host[:port]', without a path.")
        }
        var role = self
        role.endpoint = "\(endpoint.scheme)://\(endpoint.authority)"
        return role
    }
}
