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
        /// A content delivery network that passes signed requests on to the store.
        case cdn
    }

    /// Origin of the address, `http(s)://host[:port]`, in the form that ``Bucket/endpoint`` has.
    public var url: String
    /// Where the bucket's name appears in a URL; `nil` for the same place as at ``Bucket/endpoint``.
    public var addressing: Bucket.Addressing?

    /// Names an address.
    public init(url: String, addressing: Bucket.Addressing? = nil) {
        self.url = url
        self.addressing = addressing
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
        bucket.addressing = place.addressing ?? addressing
        return bucket
    }

    /// The origins that links of the bucket name, and the one that the gateway calls.
    var origins: Set<String> {
        Set(publicEndpoints.values.map(\.url)).union([endpoint])
    }
}
