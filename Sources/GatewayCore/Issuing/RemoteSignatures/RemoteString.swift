import FoundationEssentials
import LibCrypto
public import Signing

/// A string that a client wants signed, parsed but not yet trusted.
public enum RemoteString: Sendable {
    /// A string to sign of a "version 2" scheme. The request can be read from it.
    case plain(ReceivedStringToSign)
    /// A string to sign of OSS version 4, together with the canonical request that it contains the hash of.
    case hashed(String, ReceivedCanonicalRequest)

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
                reason: "Only an OSS version 4 string has a canonical "
                    + "request.")
        }
        self = .hashed(
            content,
            try RemoteString.read("canonicalRequest") { () throws(StringToSignRefusal) in
                try ReceivedCanonicalRequest(canonicalRequest, scope: .oss(region: ""))
            })
    }

    /// Returns what a signature of the string can bind at a provider's store.
    func binding(at provider: Bucket.Provider) -> SchemeBinding {
        switch self {
        case .hashed: .ossV4
        case .plain(let string):
            switch string.vendor {
            case .alibaba: .ossV1
            case .amazon, .google: provider == .gcs ? .gcsInteroperable : .awsV2
            }
        }
    }

    /// The scheme that the string is to be signed with.
    var scheme: Bucket.Scheme {
        switch self {
        case .hashed: .ossV4
        case .plain(let string): string.vendor == .alibaba ? .ossV1 : .awsV2
        }
    }

    /// The method of the request.
    var method: String {
        switch self {
        case .plain(let string): string.method
        case .hashed(_, let request): request.method
        }
    }

    /// The action that the request performs.
    var action: Action {
        let parameters =
            switch self {
            case .plain(let string): string.subResources
            case .hashed(_, let request): request.query
            }
        return switch method {
        case "GET", "HEAD": isListing ? .listObjects : .getObject
        case "DELETE": parameters.contains { $0.name == "uploadId" } ? .putObject : .deleteObject
        default: .putObject
        }
    }

    private var isListing: Bool {
        if case .hashed(_, let request) = self { request.isListing } else { false }
    }

    /// What the request is about. For a "version 4" request, this is checked again later against the bucket's address.
    struct Place {
        let bucket: BucketName
        /// The object's key; for a listing, its prefix.
        let key: ObjectKey
        /// What is listed, if the request lists.
        var listing: Listing?
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
        }
    }

    /// Checks the string against the rules that do not depend on grants.
    func permitted(
        by rules: StringRules, in bucket: Bucket, _ credential: StorageCredential
    ) throws(GatewayError) -> PermittedString {
        switch self {
        case .plain(let string):
            return try RemoteString.read("content") { () throws(StringToSignRefusal) in try string.permitted(by: rules)
            }
        case .hashed(let text, let request):
            guard let address = bucket.address(named: request.headers.first { $0.name == "host" }?.value) else {
                throw .unavailable(retryAfter: 60, cause: "bucket \(bucket.name) has no usable endpoint")
            }
            let signer = ReceivedCanonicalRequest.Signer(
                address: address, scope: .oss(region: bucket.region), accessKeyID: credential.accessKeyID)
            return try RemoteString.read("content") { () throws(StringToSignRefusal) in
                try request.permitted(stringToSign: text, by: signer, rules)
            }
        }
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

extension Bucket {
    /// Returns the address of the bucket that has a host; that of the bucket's `endpoint` if no host is given, or none
    /// has it. `nil` if the endpoint is unusable.
    fileprivate func address(named host: String?) -> BucketAddress? {
        guard let host else { return address }
        let others = PublicEndpoint.Name.allCases.lazy.compactMap { at($0)?.address }
        return others.first { $0.authority.isSameBytes(as: host) } ?? address
    }

    private var address: BucketAddress? {
        guard let endpoint = try? StoreEndpoint(endpoint) else { return nil }
        return try? BucketAddress(endpoint: endpoint, bucket: name.rawValue, addressing: addressing.forSigning)
    }
}
