import Bytes

/// How a bucket is named in a URL.
public enum Addressing: String, Sendable, Hashable, CaseIterable {
    /// In front of the endpoint's host: `https://bucket.endpoint/key`.
    case virtual
    /// As the first segment of the path: `https://endpoint/bucket/key`.
    case path
    /// Not at all, because the endpoint's host serves this bucket alone: `https://endpoint/key`.
    case cname
}

/// The address of a bucket, or of the service itself. It is made once per bucket and used for each URL.
public final class BucketAddress: Sendable {
    /// The bucket's name, empty for the service itself.
    public let bucket: String
    /// Scheme and authority, `https://demo.s3.eu-west-1.amazonaws.com`.
    public let origin: String
    /// Value of the `Host` header.
    public let authority: String
    /// The host of that value, without its port.
    public let host: String
    /// Percent-encoded path of the bucket, without the `/` that a key follows; empty where the host names the bucket.
    public let path: String
    /// The bucket's path where nothing precedes it: `/` and the percent-encoded name; empty for the service itself.
    let namingPath: String
    /// Whether the path names the bucket.
    let isPathStyle: Bool
    /// What precedes a key: in the URL that is sent, in the path that is signed, and in a signed path that always names
    /// the bucket.
    let front: (sent: [UInt8], signed: [UInt8], naming: [UInt8])

    /// Makes the address of a bucket.
    ///
    /// - Parameters:
    ///   - endpoint: Endpoint of the store, without the bucket; with ``Addressing/cname``, endpoint of the bucket.
    ///   - bucket: Name of the bucket.
    ///   - addressing: Where the name goes.
    /// - Throws: ``SigningError/invalidBucket(_:)`` when the name is empty, or when it must be part of the host and
    ///   cannot be.
    public init(endpoint: StoreEndpoint, bucket: String, addressing: Addressing) throws(SigningError) {
        guard !bucket.isEmpty else { throw .invalidBucket("it is empty") }
        self.bucket = bucket
        isPathStyle = addressing == .path
        let encoded = PercentEncoding.encode(bucket, keeping: .unreserved)
        namingPath = "/" + String(decoding: encoded, as: UTF8.self)
        var (authority, host) = (endpoint.authority, endpoint.host)
        var path = endpoint.path
        switch addressing {
        case .virtual:
            guard !endpoint.isAddress else { throw .invalidBucket("an IP address takes no bucket in front; use path") }
            guard Self.isHostLabel(bucket) else { throw .invalidBucket("it cannot stand in a host; use path") }
            authority = "\(bucket).\(authority)"
            host = "\(bucket).\(host)"
        case .path:
            path += namingPath
        case .cname:
            break
        }
        origin = "\(endpoint.scheme)://\(authority)"
        self.authority = authority
        self.host = host
        self.path = path
        front = Self.front(origin: origin, path: path, namingPath: namingPath)
    }

    /// Makes the address of the service itself, for requests that name no bucket.
    public init(service endpoint: StoreEndpoint) {
        bucket = ""
        namingPath = ""
        isPathStyle = false
        origin = "\(endpoint.scheme)://\(endpoint.authority)"
        authority = endpoint.authority
        host = endpoint.host
        path = endpoint.path
        front = Self.front(origin: origin, path: path, namingPath: namingPath)
    }

    /// Returns the URL of an object, without a signature.
    public func url(of key: String) -> String {
        let path = PercentEncoding.encode(key, keeping: .unreservedAndSlash)
        return String(decoding: front.sent + path, as: UTF8.self)
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
                && label.allSatisfy(ByteSet.lowerAlphanumeric.union("-").contains)
        }
    }
}

extension BucketAddress: Hashable {
    /// Two addresses are equal when they lead to the same URLs.
    public static func == (left: BucketAddress, right: BucketAddress) -> Bool {
        left === right || left.bucket == right.bucket && left.origin == right.origin && left.path == right.path
    }

    /// Hashes the parts that are compared.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(bucket)
        hasher.combine(origin)
        hasher.combine(path)
    }
}
