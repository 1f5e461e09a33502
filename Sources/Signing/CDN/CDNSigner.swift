/// How a content delivery network checks the links to it.
public enum CDNScheme: Sendable, Hashable {
    /// Signed URLs of Amazon CloudFront.
    case cloudFront(CloudFront.Hash)
    /// URL signing of Alibaba Cloud CDN. `validity` is the number of seconds for which the CDN accepts a link after the
    /// instant that the link names, as its domain is configured.
    case alibaba(AlibabaCDN.Form, validity: Int)
    /// The module `secure_link` of nginx.
    case nginxSecureLink
}

/// Signs links to a content delivery network with one credential. It is safe to share between threads.
///
/// Such a link binds the path and the end of its life; it has no headers, and its method is not signed. The address of
/// a request is that of the network.
public final class CDNSigner: Sendable {
    private enum Key: Sendable {
        case cloudFront(CloudFront.Key)
        case alibaba(AlibabaCDN.Form, validity: Int, secret: [UInt8])
        case nginxSecureLink(secret: [UInt8])
    }

    private let key: Key

    /// Makes a signer.
    ///
    /// - Parameters:
    ///   - scheme: How the network checks links.
    ///   - credential: For CloudFront, the identifier of the public key and the private key in PEM. For the others,
    ///     the secret is what the network shares; the access key ID appears in no link.
    /// - Throws: ``SigningError/invalidCredential(_:)``, or ``SigningError/invalidPrivateKey(_:)``.
    public init(_ scheme: CDNScheme, _ credential: SigningCredential) throws(SigningError) {
        guard credential.securityToken == nil else { throw .invalidCredential("links to a CDN take no token") }
        let secret = Array(credential.secretAccessKey.utf8)
        guard !secret.isEmpty else { throw .invalidCredential("the secret is empty") }
        key =
            switch scheme {
            case .cloudFront(let hash): .cloudFront(try CloudFront.Key(credential, hash: hash))
            case .alibaba(let form, let validity): .alibaba(form, validity: validity, secret: secret)
            case .nginxSecureLink: .nginxSecureLink(secret: secret)
            }
    }

    /// Signs a link and shows each stage.
    ///
    /// - Parameters:
    ///   - request: What the link allows: a `GET` without headers, and without a query except at CloudFront.
    ///   - sourceAddress: The IPv4 address from which alone the link works; only CloudFront can bind one.
    ///   - instant: When the life of the link begins.
    /// - Throws: ``SigningError`` for a request that the scheme cannot express.
    public func presign(
        _ request: PresignRequest, for sourceAddress: String? = nil, at instant: SigningInstant
    ) throws(SigningError) -> PresignedURL {
        let link = try CDNLink(request, at: instant)
        if case .cloudFront(let key) = key { return try CloudFront.sign(link, for: sourceAddress, with: key) }
        guard sourceAddress == nil else { throw .conditionNotSupported("IpAddress") }
        if let parameter = request.query.first { throw .queryNotBindable(parameter.name) }
        return switch key {
        case .cloudFront(let key): try CloudFront.sign(link, for: nil, with: key)
        case .alibaba(let form, let validity, let secret):
            try AlibabaCDN.sign(link, form, validity: validity, secret: secret)
        case .nginxSecureLink(let secret): try NginxSecureLink.sign(link, secret: secret)
        }
    }
}

extension CDNSigner {
    /// Signs cookies and shows what is signed. Only CloudFront knows such cookies.
    ///
    /// - Parameters:
    ///   - request: What the cookies open.
    ///   - sourceAddress: The IPv4 address from which alone the cookies work.
    ///   - instant: When the life of the cookies begins.
    /// - Throws: ``SigningError`` for a request that the scheme cannot express.
    public func cookies(
        _ request: CDNCookieRequest, for sourceAddress: String? = nil, at instant: SigningInstant
    ) throws(SigningError) -> SignedCookies {
        guard case .cloudFront(let key) = key else { throw .conditionNotSupported("cookies") }
        let end = try CDNLink.end(of: request.expiresInSeconds, from: instant)
        return try CloudFront.sign(request, until: end, for: sourceAddress, with: key)
    }
}

/// A request for a link, checked for what no network binds.
struct CDNLink {
    let request: PresignRequest
    /// When the link ends: it does not work at this instant or later.
    let end: SigningInstant
    /// The URL without a signature.
    let url: String
    /// Its percent-encoded path.
    let path: String

    static let lives = 1...604_800

    init(_ request: PresignRequest, at instant: SigningInstant) throws(SigningError) {
        guard request.method == "GET" else { throw .methodNotBindable(request.method) }
        if let header = request.headers.first { throw .headerNotBindable(header.name) }
        guard request.pathForm.isKey else { throw .pathNamesAnotherObject("a path of the caller's") }
        guard !request.key.isEmpty else { throw .ambiguousKey("it is empty") }
        end = try Self.end(of: request.expiresInSeconds, from: instant)
        self.request = request
        url = request.address.url(of: request.key)
        path = String(Substring(url.utf8.dropFirst(request.address.origin.utf8.count)))
    }

    /// The end of a life.
    ///
    /// - Throws: ``SigningError/expiryOutOfRange(seconds:allowed:)``.
    static func end(of seconds: Int, from instant: SigningInstant) throws(SigningError) -> SigningInstant {
        guard lives.contains(seconds), let end = instant.advanced(bySeconds: seconds) else {
            throw .expiryOutOfRange(seconds: seconds, allowed: lives)
        }
        return end
    }

    /// The result of a signature.
    func signed(
        path: String? = nil, query: [NamedValue], _ text: String, stringToSign: String, signature: String
    ) -> PresignedURL {
        let path = path ?? self.path
        return PresignedURL(
            url: request.address.origin + path + (text.isEmpty ? "" : "?" + text), path: path, query: query,
            canonicalRequest: "", stringToSign: stringToSign, signature: signature, requiredHeaders: [])
    }

    /// The last second in which the link works, moved by a number of seconds.
    ///
    /// - Throws: ``SigningError/expiryOutOfRange(seconds:allowed:)`` for an instant before 1970.
    func lastSecond(movedBy seconds: Int) throws(SigningError) -> SigningInstant {
        guard let last = end.advanced(bySeconds: seconds - 1) else {
            throw .expiryOutOfRange(seconds: request.expiresInSeconds, allowed: Self.lives)
        }
        return last
    }
}
