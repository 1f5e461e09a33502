public import FoundationEssentials
import Signing

/// An address of a bucket that links name in place of the one that the gateway calls.
public struct PublicEndpoint: Sendable, Equatable {
    /// The names under which requests choose an address.
    public enum Name: String, Sendable, CaseIterable {
        /// The address of links that choose none. If the bucket names none, this is the bucket's `endpoint`.
        case `default`
        /// An address within the store's network.
        case `internal`
        /// An address that shortens the way over long distances.
        case accelerate
        /// A content delivery network. It passes requests on that are signed for the store, or checks links of its own.
        case cdn
    }

    /// Origin of the address, `http(s)://host[:port]`, in the form that ``Bucket/endpoint`` has.
    public var url: String
    /// Where the bucket's name appears in a URL; `nil` for the same place as at ``Bucket/endpoint``.
    public var addressing: Bucket.Addressing?

    /// How links to this address are signed; `nil` if they are signed for the store. Only ``Name/cdn`` can have it.
    public var signing: CDNSigning?

    /// Names an address.
    public init(url: String, addressing: Bucket.Addressing? = nil, signing: CDNSigning? = nil) {
        self.url = url
        self.addressing = addressing
        self.signing = signing
    }
}

/// How a content delivery network checks the links to it, and the credential that signs these.
public struct CDNSigning: Sendable, Equatable {
    /// The signing schemes. The raw values are the names in the documentation and the database.
    public enum Scheme: String, Sendable, CaseIterable {
        /// Amazon CloudFront, signed URLs.
        case cloudFront = "cloudfront"
        /// Alibaba Cloud CDN, URL signing of type A.
        case alibabaA = "alibaba-cdn-a"
        /// Alibaba Cloud CDN, URL signing of type B.
        case alibabaB = "alibaba-cdn-b"
        /// Alibaba Cloud CDN, URL signing of type C.
        case alibabaC = "alibaba-cdn-c"
        /// The module `secure_link` of nginx.
        case nginxSecureLink = "nginx-secure-link"

        /// The kind of credential that the scheme requires.
        public var credentialKind: StorageCredential.Kind {
            switch self {
            case .cloudFront: .keyPair
            case .alibabaA, .alibabaB, .alibabaC, .nginxSecureLink: .accessKey
            }
        }
    }

    /// The hash functions of CloudFront's signatures.
    public enum Hash: String, Sendable, CaseIterable {
        /// SHA-1, which CloudFront expects of links that name no other.
        case sha1 = "SHA-1"
        /// SHA-256.
        case sha256 = "SHA-256"
    }

    /// Seconds for which Alibaba's CDN accepts a link after the instant in it, unless its domain is configured for
    /// another number.
    static let defaultValidity = 1800
    /// Longest such time in seconds, as Alibaba limits it.
    static let maxValidity = 31_536_000

    /// The scheme.
    public var scheme: Scheme
    /// Identifier of the credential that signs.
    public var credentialID: UUID
    /// The hash function, for CloudFront; `nil` for SHA-1.
    public var hash: Hash?
    /// Whether a link works only from the address that asked for it, for CloudFront; `nil` for no.
    public var bindsSourceAddress: Bool?
    /// Seconds for which the CDN accepts a link after the instant in it, as its domain is configured, for Alibaba;
    /// `nil` for ``defaultValidity``.
    public var validity: Int?
    /// Whether the CDN drops the parameters that its signatures do not cover, so that none reaches the store; `nil` for
    /// no.
    public var dropsParameters: Bool?

    /// Describes how links are signed.
    public init(
        scheme: Scheme, credentialID: UUID, hash: Hash? = nil, bindsSourceAddress: Bool? = nil,
        validity: Int? = nil, dropsParameters: Bool? = nil
    ) {
        self.scheme = scheme
        self.credentialID = credentialID
        self.hash = hash
        self.bindsSourceAddress = bindsSourceAddress
        self.validity = validity
        self.dropsParameters = dropsParameters
    }

    /// The same as the type that signers take.
    var forSigning: CDNScheme {
        let validity = validity ?? Self.defaultValidity
        return switch scheme {
        case .cloudFront: .cloudFront(hash == .sha256 ? .sha256 : .sha1)
        case .alibabaA: .alibaba(.a, validity: validity)
        case .alibabaB: .alibaba(.b, validity: validity)
        case .alibabaC: .alibaba(.c, validity: validity)
        case .nginxSecureLink: .nginxSecureLink
        }
    }
}

extension PublicEndpoint.Name {
    /// Reads the member `endpoint` of a request.
    ///
    /// - Throws: ``GatewayError/invalidArgument(field:reason:)``.
    init(parsing text: String) throws(GatewayError) {
        guard let name = Self(rawValue: text) else {
            throw .invalidArgument(
                field: "endpoint", reason: "The endpoint must be 'default', 'internal', 'accelerate' or 'cdn'.")
        }
        self = name
    }
}

extension Bucket {
    /// Returns the bucket as links name it at one of its addresses; `nil` if it has no address of that name.
    public func at(_ name: PublicEndpoint.Name) -> Bucket? {
        guard let place = publicEndpoints[name] else { return name == .default ? self : nil }
        var bucket = self
        bucket.endpoint = place.url
        bucket.addressing = addressing(at: place)
        bucket.cdn = place.signing
        if let signing = place.signing { bucket.credentialID = signing.credentialID }
        return bucket
    }

    /// Returns where the bucket's name appears in a URL of an address. A content delivery network that checks links
    /// stands for one bucket.
    func addressing(at place: PublicEndpoint) -> Addressing {
        place.addressing ?? (place.signing == nil ? addressing : .cname)
    }

    /// The scheme in which links are signed.
    var linkScheme: LinkScheme { cdn.map { .cdn($0.scheme) } ?? .store(scheme) }

    /// Whether links lead to a content delivery network that checks them.
    public var hasCDNLinks: Bool { cdn != nil }

    /// Whether links lead to a content delivery network that does not sign the query, so that whoever has one can add
    /// parameters.
    public var linksTakeParameters: Bool { cdn.map { $0.scheme != .cloudFront } ?? false }

    /// Whether parameters of a request to the bucket's content delivery network may reach Alibaba OSS.
    public var passesParametersToOSS: Bool { provider == .oss && cdn.map { $0.dropsParameters != true } ?? false }

    /// The origins for which the bucket's credential signs: those of its links, and the one that the gateway calls.
    var origins: Set<String> {
        Set(publicEndpoints.values.filter { $0.signing == nil }.map(\.url)).union([endpoint])
    }
}

/// The signing scheme of a credential that was issued: that of a store, or that of a content delivery network.
public enum LinkScheme: Sendable, Hashable, CaseIterable {
    case store(Bucket.Scheme)
    case cdn(CDNSigning.Scheme)

    /// Those of stores first.
    public static let allCases =
        Bucket.Scheme.allCases.map { Self.store($0) } + CDNSigning.Scheme.allCases.map { .cdn($0) }

    /// The name in the documentation and in figures.
    public var name: String {
        switch self {
        case .store(let scheme): scheme.rawValue
        case .cdn(let scheme): scheme.rawValue
        }
    }

    /// Whether the scheme can sign a delivery for an action.
    public func signs(_ delivery: Delivery, for action: Action) -> Bool {
        switch self {
        case .store: delivery != .cdnCookies
        case .cdn(let scheme):
            action == .getObject
                && (delivery == .presignedURL || delivery == .redirect
                    || delivery == .cdnCookies && scheme == .cloudFront)
        }
    }
}
