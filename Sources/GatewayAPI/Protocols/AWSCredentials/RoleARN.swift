import GatewayCore

/// The role that a client of `AssumeRoleWithWebIdentity` names. It is no role of AWS: its name says for which bucket
/// and prefix the credentials are.
///
/// `arn:aws:iam::000000000000:role/sluice/<bucket>/<prefix>`, where everything after the bucket and its slash is the
/// prefix, as it is. Without a prefix, the slash after the bucket may be absent.
struct RoleARN: Equatable {
    /// What precedes the bucket.
    static let beginning = "arn:aws:iam::000000000000:role/sluice/"
    /// Least and largest length that AWS admits, in characters.
    static let lengths = 20...2048

    let bucket: BucketName
    let prefix: String

    /// Reads an ARN.
    ///
    /// - Throws: ``GatewayError/invalidArgument(field:reason:)`` for `RoleArn`.
    init(_ text: String) throws(GatewayError) {
        guard Self.lengths ~= text.unicodeScalars.count, text.utf8.starts(with: Self.beginning.utf8) else {
            throw Self.refusal("The role must be '\(Self.beginning)<bucket>/<prefix>'.")
        }
        do throws(GatewayError) {
            let scope = String(Substring(text.utf8.dropFirst(Self.beginning.utf8.count)))
            (bucket, prefix) = try SessionPlace.parts(of: scope)
        } catch .invalidArgument(_, let reason) {
            throw Self.refusal(reason)
        }
    }

    private static func refusal(_ reason: String) -> GatewayError {
        .invalidArgument(field: "RoleArn", reason: reason)
    }
}
