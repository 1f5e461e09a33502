public import FoundationEssentials
public import GatewayCore
import LibCurl
import Signing

/// Requests of the gateway's own to the stores of buckets, by signed URLs in the scheme of the bucket.
public struct StoreCalls: Sendable {
    let client: OutboundClient
    let now: @Sendable () -> Date
    private let cache: PolicyCache
    private let signer: URLSigner

    static let maxAnswerBytes = 65_536
    private static let urlLife = 60

    /// Combines what the requests need.
    ///
    /// - Parameters:
    ///   - client: The client for requests to stores.
    ///   - cache: The cached rows of buckets and credentials.
    ///   - signer: The signer of the URLs.
    ///   - now: The clock of the signatures.
    public init(
        client: OutboundClient, cache: PolicyCache, signer: URLSigner, now: @escaping @Sendable () -> Date
    ) {
        self.client = client
        self.cache = cache
        self.signer = signer
        self.now = now
    }

    /// The rows by which a bucket's store is asked; `nil` if the bucket is gone.
    func location(
        of bucket: BucketName
    ) async throws(StoreCallError) -> (bucket: Bucket, credential: StorageCredential)? {
        do throws(GatewayError) { return try await cache.presentLocation(of: bucket) } catch {
            throw .unasked(error)
        }
    }

    /// Signs a request about an object and sends it. The URL binds the method by its name, the headers and the query,
    /// but not the other fields.
    func ask(
        _ name: String, _ method: HTTPTransfer.Method, for key: ObjectKey, in bucket: Bucket,
        with credential: StorageCredential, headers: [NamedValue] = [], query: [NamedValue] = [],
        fields: [HTTPTransfer.Field] = [], maxBytes: Int = Self.maxAnswerBytes
    ) async throws(StoreCallError) -> HTTPTransfer.Answer {
        let url: Secret<String>
        do throws(GatewayError) {
            url = try signer.url(
                name, of: key, in: bucket, with: credential, headers: headers, query: query,
                expiresIn: Self.urlLife, at: now())
        } catch {
            throw .unasked(error)
        }
        let bound = headers.map { HTTPTransfer.Field($0.name, $0.value) }
        do throws(OutboundError) {
            return try await client.send(method, url.reveal(), fields: bound + fields, maxBytes: maxBytes)
        } catch {
            throw .failed(error)
        }
    }

    /// Asks for the current object at a key by a HEAD. The answer is one of status 200 or 404.
    func head(
        _ key: ObjectKey, in bucket: Bucket, with credential: StorageCredential, withSHA256: Bool = false
    ) async throws(StoreCallError) -> (look: StoreLook, answer: HTTPTransfer.Answer) {
        let headers = withSHA256 && bucket.scheme == .awsV4 ? [NamedValue("x-amz-checksum-mode", "ENABLED")] : []
        // Unless the client accepts compressed bytes, Google decompresses them and tells no length (Cloud Storage,
        // "Transcoding of gzip-compressed files").
        let fields = bucket.provider == .gcs ? [HTTPTransfer.Field("accept-encoding", "gzip")] : []
        let sentAt = now()
        let answer = try await ask(
            "HEAD", .head, for: key, in: bucket, with: credential, headers: headers, fields: fields, maxBytes: 0)
        let answeredAt = now()
        let difference = answer.clockDifference(by: "date", between: sentAt, and: answeredAt)
        switch answer.status {
        case 200:
            guard let object = StoredObject(answer, at: answeredAt) else { throw .noLength }
            return (StoreLook(object: object, clockDifference: difference), answer)
        case 404: return (StoreLook(object: nil, wasDeleted: answer.tellsDeletion, clockDifference: difference), answer)
        default: throw .failed(.status(answer.status))
        }
    }
}
