import GatewayCore

/// The digests recorded for an upload's bytes, in one column: an MD5 of 16 bytes, a SHA-256 of 32, or both in this
/// order. One more byte follows a SHA-256 that the signature covers.
struct ContentDigests: Equatable {
    /// The MD5 that the URL binds.
    var md5: [UInt8]?
    /// The SHA-256 that the request named.
    var sha256: [UInt8]?
    /// Whether the store compared the SHA-256, because it was signed as the hash of the request.
    var signsPayload = false

    private static let mark: UInt8 = 1

    /// Reads the column. A value of any other length holds no digest.
    init(_ bytes: [UInt8]?) {
        guard let bytes else { return }
        let md5Count = bytes.count == 16 || bytes.count >= 48 ? 16 : 0
        if md5Count > 0 { md5 = Array(bytes.prefix(md5Count)) }
        let rest = bytes.dropFirst(md5Count)
        guard rest.count == 32 || rest.count == 33 else { return }
        sha256 = Array(rest.prefix(32))
        signsPayload = rest.count == 33
    }

    /// Returns the column's value for an issuance.
    static func column(of proposal: IssuanceProposal) -> [UInt8]? {
        guard let sha256 = proposal.contentSHA256 else { return proposal.contentMD5 }
        return (proposal.contentMD5 ?? []) + sha256 + (proposal.signsPayload ? [mark] : [])
    }
}
