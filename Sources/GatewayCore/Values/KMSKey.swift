import Bytes

/// A key of AWS KMS with which Amazon S3 encrypts objects.
///
/// - SeeAlso: AWS Key Management Service, "AWS KMS condition keys", "kms:ViaService".
struct KMSKey: Sendable, Equatable {
    /// Name of the key, `arn:<partition>:kms:<region>:<account>:key/<id>`. No character in it has a meaning of its own
    /// in a policy, so it names one key.
    let arn: String
    /// The partition of AWS in which the key is, such as `aws-cn`.
    let partition: String
    /// The service through which alone sessions use the key: S3 in the region of the key, such as
    /// `s3.eu-west-1.amazonaws.com`. S3 encrypts with no key of another region.
    let service: String

    /// Parses the name of a key; `nil` for any other text, such as the name of an alias.
    init?(_ arn: String) {
        guard arn.consists(of: .visible, count: 1...256) else { return nil }
        let fields = arn.utf8.split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false)
            .map { String(Substring($0)) }
        let kind = "key/".utf8
        guard fields.count == 6, fields[0] == "arn", let domain = AWSPartition.domain(of: fields[1]),
            fields[2] == "kms",
            fields[3].consists(of: Self.regionBytes, count: 1...64), fields[4].consists(of: .digits, count: 12...12),
            fields[5].utf8.starts(with: kind),
            Substring(fields[5].utf8.dropFirst(kind.count)).consists(of: .alphanumeric.union("-"), count: 1...128)
        else { return nil }
        self.arn = arn
        partition = fields[1]
        service = "s3.\(fields[3]).\(domain)"
    }

    private static let regionBytes = ByteSet.lowerAlphanumeric.union("-")
}
