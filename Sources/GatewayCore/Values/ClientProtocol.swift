/// A protocol that existing clients speak and that the gateway answers besides its own operations. A bucket opens each
/// by name; a bucket that does not open it answers as one that does not exist.
///
/// The raw values are the names in the API, the documentation and the database.
public enum ClientProtocol: String, Sendable, CaseIterable {
    /// Container credentials of the AWS SDKs: temporary credentials by `GET` and a bearer token.
    case awsContainerCredentials = "aws-container-credentials"
    /// `AssumeRoleWithWebIdentity` of the AWS Security Token Service.
    case awsWebIdentity = "aws-web-identity"
    /// The batch API of Git LFS.
    case gitLFS = "git-lfs"
    /// The batch API of Git LFS at a store that cannot bind the SHA-256 of an upload: only its size is checked.
    case gitLFSVerify = "git-lfs-verify"
    /// The S3 routes of Uppy Companion.
    case uppyCompanion = "uppy-companion"
    /// Remote signing of S3 requests, as clients of Iceberg ask for it.
    case awsRemoteSigning = "aws-remote-signing"
}

extension Bucket {
    /// Whether the bucket opens a protocol to clients. Where its links can bind a SHA-256, it does not open the one
    /// that does without.
    func opens(_ clientProtocol: ClientProtocol) -> Bool {
        protocols.contains(clientProtocol) && !(clientProtocol == .gitLFSVerify && binding.bindsChecksum)
    }
}
