/// A request for cookies that open a part of a bucket at a content delivery network, for `GET`.
public struct CDNCookieRequest: Sendable, Hashable {
    /// Where the bucket is.
    public var address: BucketAddress
    /// Empty for the whole bucket, a text that ends in `/` for all keys that begin with it, or one whole key. Decoded.
    public var prefix: String
    /// Life of the cookies in seconds.
    public var expiresInSeconds: Int

    /// Describes a request. It is checked when it is signed.
    public init(address: BucketAddress, prefix: String, expiresInSeconds: Int) {
        self.address = address
        self.prefix = prefix
        self.expiresInSeconds = expiresInSeconds
    }

    /// Whether the cookies open all keys that begin with the prefix, with any query.
    var isBelow: Bool { prefix.isEmpty || prefix.utf8.last == UInt8(ascii: "/") }
}

/// Cookies that a content delivery network checks, and what was signed for them.
public struct SignedCookies: Sendable, Equatable {
    /// Names and values. The values need no encoding.
    public let cookies: [NamedValue]
    /// The URL of the object, or what the URLs of all objects begin with; without a signature.
    public let url: String
    /// The host that must receive the cookies.
    public let host: String
    /// The percent-encoded path of the URL, which is the attribute `Path` of cookies that reach no other object.
    public let path: String
    /// The policy that is signed.
    public let stringToSign: String
    /// The signature, in base64 with the characters that CloudFront uses in URLs.
    public let signature: String
}
