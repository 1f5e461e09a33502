import Foundation
public import Signing

/// What a client wants signed, taken apart and not yet believed.
public enum RemoteString: Sendable {
    /// A string of a "version 2" scheme, in which the request can be read.
    case plain(ReceivedStringToSign)
    /// A string of OSS version 4, with the canonical request whose hash it holds.
    case hashed(String, ReceivedCanonicalRequest)

    /// Reads what a client sent.
    ///
    /// - Parameters:
    ///   - content: The string to sign.
    ///   - canonicalRequest: The request of a "version 4" string; such a string is refused without it.
    ///   - scheme: Which signature is wanted.
    /// - Throws: ``GatewayError/invalidArgument(field:reason:)``, which repeats nothing of the string.
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
            throw .invalidArgument(field: "canonicalRequest", reason: "Only OSS version 4 strings come with one.")
        }
        self = .hashed(
            content,
            try RemoteString.read("canonicalRequest") { () throws(StringToSignRefusal) in
                try ReceivedCanonicalRequest(canonicalRequest, scope: .oss(region: ""))
            })
    }

    /// What a signature of the string binds at a provider's store.
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

    /// The method of the request.
    var method: String {
        switch self {
        case .plain(let string): string.method
        case .hashed(_, let request): request.method
        }
    }

    /// Bucket and key; those of a "version 4" request are checked again with the bucket's address.
    func place() throws(GatewayError) -> (bucket: BucketName, key: ObjectKey) {
        switch self {
        case .plain(let string): return (try BucketName(string.bucket), try ObjectKey(string.key).bounded("content"))
        case .hashed(_, let request):
            let parts = request.path.utf8.dropFirst().split(
                separator: UInt8(ascii: "/"), maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2 else {
                throw .invalidArgument(field: "canonicalRequest", reason: "The path is not that of an object.")
            }
            let key = try ObjectKey(String(Substring(parts[1]))).bounded("canonicalRequest")
            return (try BucketName(String(Substring(parts[0]))), key)
        }
    }

    /// Holds the string to the rules that need no grants.
    func permitted(
        by rules: StringRules, in bucket: Bucket, _ credential: StorageCredential
    ) throws(GatewayError) -> PermittedString {
        switch self {
        case .plain(let string):
            return try RemoteString.read("content") { () throws(StringToSignRefusal) in try string.permitted(by: rules)
            }
        case .hashed(let text, let request):
            guard let endpoint = try? StoreEndpoint(bucket.endpoint),
                let address = try? BucketAddress(
                    endpoint: endpoint, bucket: bucket.name.rawValue, addressing: bucket.addressing.forSigning)
            else { throw .unavailable(retryAfter: 60, cause: "bucket \(bucket.name) has no usable endpoint") }
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
