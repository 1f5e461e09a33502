import Bytes
import LibCrypto

/// URL signing of Alibaba Cloud CDN: an MD5 over the secret, the percent-encoded path and an instant.
///
/// A link names an instant, and the CDN accepts it until its `validity` after that instant has passed. The instant is
/// chosen so that the link ends when it should: it may lie in the past. The query is not signed.
///
/// - SeeAlso: Alibaba Cloud CDN, "Type A signing", "Type B signing", "Type C signing".
public enum AlibabaCDN {
    /// Where the signature stands, and how the instant is written.
    public enum Form: Sendable, Hashable, CaseIterable {
        /// In the parameter `auth_key`, with seconds since 1970.
        case a
        /// Before the path, with the minute in China Standard Time. A link may end up to 59 seconds early.
        case b
        /// Before the path, with seconds since 1970 in hexadecimal.
        case c
    }

    /// Returns the number of seconds by which a link ends earlier than asked, because it cannot name the instant.
    ///
    /// - Parameters:
    ///   - end: The end that is asked for, in seconds since 1970.
    ///   - validity: Seconds for which the CDN accepts a link.
    public static func lostSeconds(of form: Form, endingAt end: Int64, validity: Int) -> Int {
        guard case .b = form else { return 0 }
        let rest = Int((end - 1 - Int64(validity)) % 60)
        return rest < 0 ? rest + 60 : rest
    }

    /// Returns whether a key ends so that ``Form/c`` cannot tell it apart from the instant that follows.
    public static func isAmbiguous(key: String) -> Bool {
        guard let last = key.utf8.last else { return false }
        return Hex.value(of: last) != nil || !ByteSet.unreservedAndSlash.contains(last)
    }

    private static let chinaStandardTime = 8 * 3600

    static func sign(
        _ link: CDNLink, _ form: Form, validity: Int, secret: [UInt8]
    ) throws(SigningError) -> PresignedURL {
        // A link still works in the second that it names.
        let instant = try link.lastSecond(movedBy: -validity)
        switch form {
        case .a:
            // Both fields are free of meaning, and a constant keeps links the same. Keys may hold hyphens: no field
            // holds one, so the last hyphens of the text end the path, and no other path has the same text.
            let fields = "\(instant.epochSeconds)-0-0"
            let (text, hash) = hashed("\(link.path)-\(fields)-", secret, isFirst: false)
            let value = "\(fields)-\(hash)"
            return link.signed(
                query: [NamedValue("auth_key", value)], "auth_key=\(value)", stringToSign: text, signature: hash)
        case .b:
            guard let local = instant.advanced(bySeconds: chinaStandardTime) else {
                throw .expiryOutOfRange(seconds: link.request.expiresInSeconds, allowed: CDNLink.lives)
            }
            let basic = local.basic
            let minute = basic.prefix(8) + basic.dropFirst(9).prefix(4)
            let (text, hash) = hashed("\(minute)\(link.path)", secret, isFirst: true)
            return signed(link, before: "/\(minute)/\(hash)", text, hash)
        case .c:
            // The path and the instant are hashed without a separator: `/a1` with one instant is `/a` with a later one.
            guard !isAmbiguous(key: link.request.key) else {
                throw .ambiguousKey("its path ends with a hexadecimal digit, after which the instant is signed")
            }
            let seconds = String(instant.epochSeconds, radix: 16, uppercase: true)
            let (text, hash) = hashed("\(link.path)\(seconds)", secret, isFirst: true)
            return signed(link, before: "/\(hash)/\(seconds)", text, hash)
        }
    }

    private static func signed(
        _ link: CDNLink, before front: String, _ text: String, _ hash: String
    ) -> PresignedURL {
        link.signed(path: front + link.path, query: [], "", stringToSign: text, signature: hash)
    }

    /// Returns a text as it is shown, without the secret, and the MD5 of the text with the secret.
    private static func hashed(_ text: String, _ secret: [UInt8], isFirst: Bool) -> (shown: String, hash: String) {
        let bytes = Array(text.utf8)
        return (text, DigestAlgorithm.md5.digest(of: isFirst ? secret + bytes : bytes + secret).hex)
    }
}
