import FoundationEssentials
import Bytes
public import Signing

/// A string that a client wants signed, parsed but not yet trusted.
public enum RemoteString: Sendable {
    /// A string to sign of a "version 2" scheme. The request can be read from it.
    case plain(ReceivedStringToSign)
    /// A string to sign of OSS version 4, together with the canonical request that it contains the hash of.
    case hashed(String, ReceivedCanonicalRequest)
    /// A request of AWS version 4, and the place that its URL names.
    case request(RequestToSign, Place, region: String)

    /// Parses a string from a client.
    ///
    /// - Parameters:
    ///   - content: The string to sign.
    ///   - canonicalRequest: The canonical request of a "version 4" string, which is refused without it.
    ///   - scheme: The requested signature scheme.
    /// - Throws: ``GatewayError/invalidArgument(field:reason:)``, which contains no part of the string.
    public init(
        _ content: String, canonicalRequest: String?, scheme: RemoteSignatures.Scheme
    ) throws(GatewayError) {
        guard let canonicalRequest else {
            self = .plain(
                try RemoteString.read("content") { () throws(StringToSignRefusal) in
                    try ReceivedStringToSign(content, vendor: scheme.vendor)
                })
            return
        }
        guard scheme == .oss else {
            throw .invalidArgument(
                field: "canonicalRequest",
                reason: "Only an OSS version 4 string has a canonical request.")
        }
        self = .hashed(
            content,
            try RemoteString.read("canonicalRequest") { () throws(StringToSignRefusal) in
                try ReceivedCanonicalRequest(canonicalRequest, scope: .oss(region: ""))
            })
    }

    /// Returns what a signature of the string can bind at the store of a bucket.
    func binding(at bucket: Bucket) -> SchemeBinding {
        switch self {
        case .hashed: .ossV4
        case .request: bucket.binding
        case .plain(let string):
            switch string.vendor {
            case .alibaba: .ossV1
            case .amazon, .google: .ofVersion2(at: bucket)
            }
        }
    }

    /// Whether the holder of the string's signature may be able to hide a parameter from the store.
    ///
    /// MinIO, and stores that copied from it, decode each parameter of a version 2 request before they compare, and
    /// then take the query apart once more. So the signature of `?uploadId=1` is also that of `?x=%26uploadId%3D1`,
    /// in which their handlers see no `uploadId`.
    func hidesParameters(at bucket: Bucket) -> Bool {
        guard case .plain(let string) = self else { return false }
        return string.vendor != .alibaba && bucket.provider != .gcs
    }

    /// Whether the string of a part may also be that of a whole object, at a bucket that has not accepted this by its
    /// own scheme.
    func mayBeWhole(at bucket: Bucket) -> Bool { bucket.scheme != .awsV2 && hidesParameters(at: bucket) }

    /// The scheme that the string is to be signed with.
    var scheme: Bucket.Scheme {
        switch self {
        case .hashed: .ossV4
        case .request: .awsV4
        case .plain(let string): string.vendor == .alibaba ? .ossV1 : .awsV2
        }
    }

    /// The method of the request.
    var method: String {
        switch self {
        case .plain(let string): string.method
        case .hashed(_, let request): request.method
        case .request(let request, _, _): request.method
        }
    }

    /// The action that the request performs.
    var action: Action {
        let parameters =
            switch self {
            case .plain(let string): string.subResources
            case .hashed(_, let request): request.query
            case .request(let request, _, _): request.parameters
            }
        let isOfUpload = parameters.contains { $0.name == "uploadId" }
        return switch method {
        case "GET", "HEAD": isListing ? .listObjects : isOfUpload ? .putObject : .getObject
        case "DELETE": isOfUpload ? .putObject : .deleteObject
        default: .putObject
        }
    }

    /// Whether the request can only end an upload in parts. It is the one deletion that takes ``Action/putObject``.
    var endsUpload: Bool { method == "DELETE" && action == .putObject }

    private var isListing: Bool {
        switch self {
        case .plain: false
        case .hashed(_, let request): request.isListing
        case .request(let request, _, _): request.isListing
        }
    }

    /// What the request is about. For a "version 4" request, this is checked again later against the bucket's address.
    public struct Place: Sendable {
        let bucket: BucketName
        /// The object's key; for a listing, its prefix.
        let key: ObjectKey
        /// What is listed, if the request lists.
        var listing: Listing?
        /// Why nothing at the place can be signed for. Only callers with a grant in the bucket may learn it.
        var flaw: GatewayError?
    }

    /// Reads what the request is about.
    func place() throws(GatewayError) -> Place {
        switch self {
        case .plain(let string):
            return Place(bucket: try BucketName(string.bucket), key: try ObjectKey(string.key).bounded("content"))
        case .hashed(_, let request):
            let parts = request.path.utf8.dropFirst().split(
                separator: UInt8(ascii: "/"), maxSplits: 1, omittingEmptySubsequences: false)
            let bucket = try BucketName(String(Substring(parts[0])))
            if request.isListing, parts.count == 1 || parts[1].isEmpty {
                let listing = try Listing(
                    prefix: request.query.value(of: "prefix") ?? "", Listing.Fields(request.query))
                return Place(bucket: bucket, key: ObjectKey(ofListing: listing), listing: listing)
            }
            guard parts.count == 2 else {
                throw .invalidArgument(field: "canonicalRequest", reason: "The path does not name an object.")
            }
            let key = try ObjectKey(String(Substring(parts[1]))).bounded("canonicalRequest")
            return Place(bucket: bucket, key: key)
        case .request(_, let place, _): return place
        }
    }

    /// Checks the string against the rules that do not depend on grants.
    ///
    /// - Returns: The string, and the headers that the client must send besides those of its own request.
    func permitted(
        by rules: StringRules, in bucket: Bucket, _ credential: StorageCredential
    ) throws(GatewayError) -> (string: PermittedString, headers: [NamedValue]) {
        switch self {
        case .plain(let string):
            return try RemoteString.read("content") { () throws(StringToSignRefusal) in
                (try string.permitted(by: rules), [])
            }
        case .hashed(let text, let request):
            let host = request.headers.first { $0.name == "host" }?.value
            let signer = try signer(of: bucket, credential, .oss(region: bucket.region)) {
                $0.authority.isSameBytes(as: host ?? "")
            }
            return try RemoteString.read("content") { () throws(StringToSignRefusal) in
                (try request.permitted(stringToSign: text, by: signer, rules), [])
            }
        case .request(let request, _, let region):
            let signer = try signer(of: bucket, credential, .aws(region: bucket.region)) {
                request.key(at: $0) != nil
            }
            return try RemoteString.read("uri") { () throws(StringToSignRefusal) in
                guard region.isSameBytes(as: bucket.region) else { throw .wrongScope }
                return try request.permitted(by: signer, rules)
            }
        }
    }

    /// Reads what a request of AWS version 4 is about.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - key: What its URL names in the bucket; empty for the bucket itself.
    ///   - bucket: The bucket.
    static func place(of request: RequestToSign, naming key: String, in bucket: BucketName) -> Place {
        do throws(GatewayError) {
            if key.isEmpty, request.isListing {
                let parameters = request.parameters
                let listing = try Listing(prefix: parameters.value(of: "prefix") ?? "", Listing.Fields(parameters))
                return Place(bucket: bucket, key: ObjectKey(ofListing: listing), listing: listing)
            }
            guard !key.isEmpty else {
                return try read("uri") { () throws(StringToSignRefusal) in throw StringToSignRefusal.bucketResource }
            }
            return Place(bucket: bucket, key: try ObjectKey(key).bounded("uri"))
        } catch {
            return Place(bucket: bucket, key: .none, flaw: error)
        }
    }

    /// Returns who signs at the address that the request names; at the bucket's `endpoint` if it names none of the
    /// bucket's.
    private func signer(
        of bucket: Bucket, _ credential: StorageCredential, _ scope: CredentialScope,
        at isNamed: (BucketAddress) -> Bool
    ) throws(GatewayError) -> ReceivedCanonicalRequest.Signer {
        let addresses = bucket.addresses
        guard let address = addresses.first(where: isNamed) ?? addresses.first else {
            throw .unavailable(retryAfter: 60, cause: "bucket \(bucket.name) has no usable endpoint")
        }
        return ReceivedCanonicalRequest.Signer(address: address, scope: scope, accessKeyID: credential.accessKeyID)
    }

    private static func read<Value>(
        _ field: String, _ body: () throws(StringToSignRefusal) -> Value
    ) throws(GatewayError) -> Value {
        do throws(StringToSignRefusal) {
            return try body()
        } catch {
            throw .invalidArgument(field: field, reason: "\(error.detail) (\(error.rawValue))")
        }
    }
}

extension ObjectKey {
    /// No key. Only grants on the whole bucket are looked up for it.
    fileprivate static let none = ObjectKey(unchecked: "")
}

extension Bucket {
    /// The usable addresses of the bucket: that of its `endpoint` first, then those of its public endpoints, and at
    /// Amazon that of its `endpoint` with the bucket in the path.
    var addresses: [BucketAddress] {
        let others = PublicEndpoint.Name.allCases.compactMap { publicEndpoints[$0] == nil ? nil : at($0) }
        return ([self] + others + [inPath].compactMap(\.self)).compactMap(\.address)
    }

    /// The bucket with its name in the path, where the store accepts that besides the name in the host; otherwise
    /// `nil`. An SDK that is given an endpoint may write the path whatever the row says, as botocore does.
    private var inPath: Bucket? {
        guard provider == .aws, addressing == .virtual else { return nil }
        var bucket = self
        bucket.addressing = .path
        return bucket
    }

    private var address: BucketAddress? {
        guard let endpoint = try? StoreEndpoint(endpoint) else { return nil }
        return try? BucketAddress(endpoint: endpoint, bucket: name.rawValue, addressing: addressing.forSigning)
    }
}

extension Listing.Fields {
    /// Reads the parameters of a listing that a client composed. Those that change only how the answer is written are
    /// left out.
    init(_ query: [NamedValue]) {
        self.init()
        delimiter = query.value(of: "delimiter")
        maxKeys = query.value(of: "max-keys").flatMap { Int64($0) }
        continuationToken = query.value(of: "continuation-token")
        startAfter = query.value(of: "start-after")
    }
}

extension [NamedValue] {
    /// The value of a parameter; `nil` if it is absent or empty.
    fileprivate func value(of name: String) -> String? {
        first { $0.name == name && !$0.value.isEmpty }?.value
    }
}
