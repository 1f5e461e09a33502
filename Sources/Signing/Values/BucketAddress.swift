/// How a bucket is named in a URL.
public enum Addressing: String, Sendable, Hashable, CaseIterable {
    /// In front of the endpoint's host: `https://bucket.endpoint/key`.
    case virtual
    /// As first segment of the path: `https://endpoint/bucket/key`.
    case path
    /// Nowhere: the endpoint's host stands for this bucket alone: `https://endpoint/key`.
    case cname
}

/// Where one bucket's objects are found, or the service itself; made once per bucket and used for each URL.
public final class BucketAddress: Sendable {
    /// The bucket's name, empty for the service itself.
    public let bucket: String
    /// Scheme and authority, `https://demo.s3.eu-west-1.amazonaws.com`.
    public let origin: String
    /// Value of the `Host` header.
    public let authority: String
    /// Percent-encoded path of the bucket, without the `/` that a key follows; empty where the host names the bucket.
    public let path: String
    /// The path where the bucket is named by it alone: its percent-encoded name behind `/`; empty for the service itself.
    let namingPath: String
    /// Whether the path names the bucket.
    let isPathStyle: Bool
    /// What stands in front of a key in a URL, and in the path that is signed: of that the bucket's, and the one that names it.
    let front: (sent: [UInt8], signed: [UInt8], naming: [UInt8])

    /// Puts a bucket's address together.
    ///
    /// - Parameters:
    ///   - endpoint: Endpoint of the store, without the bucket; with ``Addressing/cname``, of the bucket.
    ///   - bucket: Name of the bucket.
    ///   - addressing: Where the name goes.
    /// - Throws: ``SigningError/invalidBucket(_:)`` when the name is empty, or cannot stand in a host and is to.
    public init(endpoint: StoreEndpoint, bucket: String, addressing: Addressing) throws(SigningError) {
        guard !bucket.isEmpty else { throw .invalidBucket("it is empty") }
        self.bucket = bucket
        isPathStyle = addressing == .path
        let encoded = PercentEncoding.encode(bucket, keeping: PercentEncoding.unreserved)
        namingPath = "/" + String(decoding: encoded, as: UTF8.self)
        var authority = endpoint.authority
        var path = endpoint.path
        switch addressing {
        case .virtual:
            guard !endpoint.isAddress else { throw .invalidBucket("an IP address takes no bucket in front; use path") }
            guard Self.isHostLabel(bucket) else { throw .invalidBucket("it cannot stand in a host; use path") }
            authority = "\(bucket).\(authority)"
        case .path:
            path += namingPath
        case .cname:
            break
        }
        origin = "\(endpoint.scheme)://\(authority)"
        self.authority = authority
        self.path = path
        front = Self.front(origin: origin, path: path, namingPath: namingPath)
    }

    /// The service itself, for requests that name no bucket.
    public init(service endpoint: StoreEndpoint) {
        bucket = ""
        namingPath = ""
        isPathStyle = false
        origin = "\(endpoint.scheme)://\(endpoint.authority)"
        authority = endpoint.authority
        path = endpoint.path
        front = Self.front(origin: origin, path: path, namingPath: namingPath)
    }

    private static func front(
        origin: String, path: String, namingPath: String
    ) -> (sent: [UInt8], signed: [UInt8], naming: [UInt8]) {
        (Array("\(origin)\(path)/".utf8), Array("\(path)/".utf8), Array("\(namingPath)/".utf8))
    }

    private static func isHostLabel(_ name: String) -> Bool {
        let labels = name.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        return labels.allSatisfy { label in
            let hyphen = UInt8(ascii: "-")
            return !label.isEmpty && label.first != hyphen && label.last != hyphen
                && label.allSatisfy { "0123456789abcdefghijklmnopqrstuvwxyz-".utf8.contains($0) }
        }
    }
}

extension BucketAddress: Hashable {
    /// Equal when a URL with one is the same as with the other.
    public static func == (left: BucketAddress, right: BucketAddress) -> Bool {
        left === right || left.bucket == right.bucket && left.origin == right.origin && left.path == right.path
    }

    /// Hashes what is compared.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(bucket)
        hasher.combine(origin)
        hasher.combine(path)
    }
}
