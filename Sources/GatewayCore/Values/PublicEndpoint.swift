public import FoundationEssentials
import Signing

/// An address of a bucket that links name in place of the one that the gateway calls.
public struct PublicEndpoint: Sendable, Equatable, Codable {
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
public struct CDNSigning: Sendable, Equatable, Codable {
    /// The hash functions of CloudFront's signatures.
    public enum Hash: String, Sendable, CaseIterable, Codable {
        /// SHA-1, which CloudFront expects of links that name no other.
        case sha1 = "SHA-1"
        /// SHA-256.
        case sha256 = "SHA-256"
    }

    /// Seconds for which Alibaba's CDN accepts a link after the instant in it, unless its domain is configured for
    /// another number.
    public static let defaultValidity = 1800
    /// Longest such time in seconds, as Alibaba limits it.
    static let maxValidity = 31_536_000

    /// The scheme: one of ``Bucket/Scheme/ofCDNs``.
    public var scheme: Bucket.Scheme
    /// Identifier of the credential that signs.
    public var credentialID: UUID
    /// The hash function, for CloudFront; `nil` for SHA-1.
    public var hash: Hash?
    /// Whether a link works only from the address that asked for it, for CloudFront; `nil` for no.
    public var bindsSourceAddress: Bool?
    /// Seconds for which the CDN accepts a link after the instant in it, as its domain is configured, for Alibaba;
    /// `nil` for ``defaultValidity``.
    public var validity: Int?

    /// Describes how links are signed.
    public init(
        scheme: Bucket.Scheme, credentialID: UUID, hash: Hash? = nil, bindsSourceAddress: Bool? = nil,
        validity: Int? = nil
    ) {
        self.scheme = scheme
        self.credentialID = credentialID
        self.hash = hash
        self.bindsSourceAddress = bindsSourceAddress
        self.validity = validity
    }

    /// The same as the type that signers take; `nil` for a scheme of stores.
    var forSigning: CDNScheme? {
        let validity = validity ?? Self.defaultValidity
        return switch scheme {
        case .cloudFront: .cloudFront(hash == .sha256 ? .sha256 : .sha1)
        case .alibabaCDNA: .alibaba(.a, validity: validity)
        case .alibabaCDNB: .alibaba(.b, validity: validity)
        case .alibabaCDNC: .alibaba(.c, validity: validity)
        case .nginxSecureLink: .nginxSecureLink
        case .awsV4, .awsV2, .ossV4, .ossV1, .gcsV4RSA, .gcsV4HMAC, .gcsV2RSA: nil
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
        if let signing = place.signing {
            bucket.scheme = signing.scheme
            bucket.credentialID = signing.credentialID
        }
        return bucket
    }

    /// Returns where the bucket's name appears in a URL of an address. A content delivery network that checks links
    /// stands for one bucket.
    func addressing(at place: PublicEndpoint) -> Addressing {
        place.addressing ?? (place.signing == nil ? addressing : .cname)
    }

    /// How links of this bucket are signed if it is the bucket as a content delivery network names it; `nil` for a
    /// bucket at its store.
    var cdnSigning: CDNSigning? {
        scheme.isOfCDN ? publicEndpoints[.cdn]?.signing : nil
    }

    /// The origins for which the bucket's credential signs: those of its links, and the one that the gateway calls.
    var origins: Set<String> {
        Set(publicEndpoints.values.filter { $0.signing == nil }.map(\.url)).union([endpoint])
    }
}
