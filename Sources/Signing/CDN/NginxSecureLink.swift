import Bytes
import LibCrypto

/// Links for the module `secure_link` of nginx, configured so:
///
/// ```
/// secure_link $arg_md5,$arg_expires;
/// secure_link_md5 "$secure_link_expires$uri SECRET";
/// ```
///
/// `$uri` is the decoded path, so the decoded path is signed. The query is not signed.
///
/// - SeeAlso: nginx, "Module ngx_http_secure_link_module".
enum NginxSecureLink {
    static func sign(_ link: CDNLink, secret: [UInt8]) throws(SigningError) -> PresignedURL {
        // A link still works in the second that it names.
        let expires = try link.lastSecond(movedBy: 0).epochSeconds
        guard let path = PercentEncoding.decode(link.path.utf8, plusIsSpace: false) else {
            throw .ambiguousKey("its path cannot be decoded")
        }
        let text = Array("\(expires)".utf8) + path + " ".utf8
        let hash = Base64URL.encode(DigestAlgorithm.md5.digest(of: text + secret).bytes)
        return link.signed(
            query: [NamedValue("md5", hash), NamedValue("expires", String(expires))], "md5=\(hash)&expires=\(expires)",
            stringToSign: String(decoding: text, as: UTF8.self), signature: hash)
    }
}
