/// A partition of AWS: regions whose accounts, names and domain are separate from those of all others.
///
/// - SeeAlso: `botocore`, `partitions.json`.
struct AWSPartition {
    /// Name of the partition, as in ARNs.
    let name: String
    /// The domain of its services.
    let domain: String
    /// What the names of its regions begin with. The main partition has all others.
    let regionPrefix: String

    private static let all = [
        AWSPartition(name: "aws-cn", domain: "amazonaws.com.cn", regionPrefix: "cn-"),
        AWSPartition(name: "aws-us-gov", domain: "amazonaws.com", regionPrefix: "us-gov-"),
        AWSPartition(name: "aws-eusc", domain: "amazonaws.eu", regionPrefix: "eusc-"),
        AWSPartition(name: "aws-iso", domain: "c2s.ic.gov", regionPrefix: "us-iso-"),
        AWSPartition(name: "aws-iso-b", domain: "sc2s.sgov.gov", regionPrefix: "us-isob-"),
        AWSPartition(name: "aws-iso-e", domain: "cloud.adc-e.uk", regionPrefix: "eu-isoe-"),
        AWSPartition(name: "aws-iso-f", domain: "csp.hci.ic.gov", regionPrefix: "us-isof-"),
        AWSPartition(name: SessionRole.mainPartition, domain: "amazonaws.com", regionPrefix: ""),
    ]

    /// Returns the domain of a partition's services; `nil` for another word.
    static func domain(of name: String) -> String? { all.first { $0.name == name }?.domain }

    /// Returns the domain of a region's services.
    static func domain(ofRegion region: String) -> String? {
        all.first { region.utf8.starts(with: $0.regionPrefix.utf8) }?.domain
    }
}
