import Bytes
import LibCrypto

/// Signed URLs and signed cookies of Amazon CloudFront.
///
/// What is signed is a policy: the URL with its query, and the instant at which the link ends. CloudFront composes a
/// canned policy itself, so that such a link carries the instant alone. A custom policy is part of the link; it also
/// names the address from which the link works, and may open all URLs with one beginning.
///
/// - SeeAlso: Amazon CloudFront Developer Guide, "Use signed URLs" and "Use signed cookies";
///   `botocore.signers.CloudFrontSigner`.
public enum CloudFront {
    /// The hash function of a signature.
    public enum Hash: Sendable, Hashable {
        /// SHA-1, which CloudFront expects of links that name no other.
        case sha1
        /// SHA-256, which links have to name.
        case sha256
    }

    /// A key prepared for signing.
    final class Key: Sendable {
        let id: String
        let key: RSAPrivateKey
        let hash: Hash

        init(_ credential: SigningCredential, hash: Hash) throws(SigningError) {
            id = credential.accessKeyID
            self.hash = hash
            guard !id.isEmpty, id.utf8.allSatisfy(ByteSet.unreserved.contains) else {
                throw .invalidCredential("the identifier of the key is empty or holds other than letters and digits")
            }
            let algorithm: DigestAlgorithm =
                switch hash {
                case .sha1: .sha1
                case .sha256: .sha256
                }
            do {
                key = try RSAPrivateKey(pem: credential.secretAccessKey, hashingWith: algorithm)
            } catch {
                throw .invalidPrivateKey("it is no RSA key in PEM, unencrypted and of 2048 bits or more")
            }
        }
    }

    static func sign(
        _ link: CDNLink, for sourceAddress: String?, with key: Key
    ) throws(SigningError) -> PresignedURL {
        let own = ["Expires", "Policy", "Signature", "Key-Pair-Id", "Hash-Algorithm"]
        if let parameter = link.request.query.first(where: { own.contains($0.name) }) {
            throw .reservedQueryParameter(parameter.name)
        }
        let query = link.request.query.map { parameter in
            var text: [UInt8] = []
            PercentEncoding.append(parameter, to: &text)
            return String(decoding: text, as: UTF8.self)
        }
        // A canned policy names the URL of the request, so it opens only that one.
        if sourceAddress != nil { try checkWildcards(in: link.request.key) }
        let resource = link.url + (query.isEmpty ? "" : "?" + query.joined(separator: "&"))
        let policy = try policy(resource, until: link.end, for: sourceAddress)
        let signature = try signature(of: policy, with: key)
        var added: [NamedValue] = [
            sourceAddress == nil
                ? NamedValue("Expires", String(link.end.epochSeconds))
                : NamedValue("Policy", urlSafe(Array(policy.utf8))),
            NamedValue("Signature", signature), NamedValue("Key-Pair-Id", key.id),
        ]
        if case .sha256 = key.hash { added.append(NamedValue("Hash-Algorithm", "SHA256")) }
        let text = query + added.map { "\($0.name)=\($0.value)" }
        return link.signed(
            query: link.request.query + added, text.joined(separator: "&"), stringToSign: policy, signature: signature)
    }

    static func sign(
        _ request: CDNCookieRequest, until end: SigningInstant, for sourceAddress: String?, with key: Key
    ) throws(SigningError) -> SignedCookies {
        try checkWildcards(in: request.prefix)
        let url = request.address.url(of: request.prefix)
        let policy = try policy(url + (request.isBelow ? "*" : ""), until: end, for: sourceAddress)
        let signature = try signature(of: policy, with: key)
        var cookies = [
            // A canned policy names the URL of the request, so it can open only one.
            request.isBelow || sourceAddress != nil
                ? NamedValue("CloudFront-Policy", urlSafe(Array(policy.utf8)))
                : NamedValue("CloudFront-Expires", String(end.epochSeconds)),
            NamedValue("CloudFront-Signature", signature), NamedValue("CloudFront-Key-Pair-Id", key.id),
        ]
        if case .sha256 = key.hash { cookies.append(NamedValue("CloudFront-Hash-Algorithm", "SHA256")) }
        return SignedCookies(
            cookies: cookies, url: url, host: request.address.host,
            path: String(Substring(url.utf8.dropFirst(request.address.origin.utf8.count))), stringToSign: policy,
            signature: signature)
    }

    /// Whether a key holds a wildcard of policies. A custom policy names no such key: how CloudFront compares the
    /// escaped forms of its wildcards is not documented.
    public static func hasWildcard(_ key: String) -> Bool {
        key.utf8.contains { $0 == UInt8(ascii: "*") || $0 == UInt8(ascii: "?") }
    }

    private static func checkWildcards(in key: String) throws(SigningError) {
        guard !hasWildcard(key) else {
            throw .ambiguousKey("it holds '*' or '?', which stand for other characters in a policy")
        }
    }

    private static func signature(of policy: String, with key: Key) throws(SigningError) -> String {
        do {
            return urlSafe(try key.key.signature(of: Array(policy.utf8)))
        } catch {
            throw .invalidPrivateKey("its numbers do not fit together")
        }
    }

    /// The policy. Its texts hold no character that JSON escapes: the URL is percent-encoded.
    private static func policy(
        _ resource: String, until end: SigningInstant, for sourceAddress: String?
    ) throws(SigningError) -> String {
        var address = ""
        if let sourceAddress {
            // Only version 4: CloudFront knows no other.
            guard !sourceAddress.isEmpty, sourceAddress.utf8.allSatisfy("0123456789.".utf8.contains) else {
                throw .conditionNotSupported("IpAddress")
            }
            address = #","IpAddress":{"AWS:SourceIp":"\#(sourceAddress)/32"}"#
        }
        return #"{"Statement":[{"Resource":"\#(resource)","Condition":{"DateLessThan":{"AWS:EpochTime":"#
            + "\(end.epochSeconds)}\(address)}}]}"
    }

    /// Base64 in the characters that CloudFront uses in URLs.
    private static func urlSafe(_ bytes: [UInt8]) -> String {
        let text = Base64.encode(bytes).utf8.map { byte in
            switch byte {
            case UInt8(ascii: "+"): UInt8(ascii: "-")
            case UInt8(ascii: "="): UInt8(ascii: "_")
            case UInt8(ascii: "/"): UInt8(ascii: "~")
            default: byte
            }
        }
        return String(decoding: text, as: UTF8.self)
    }
}
