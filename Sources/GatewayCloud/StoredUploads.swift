public import FoundationEssentials
public import GatewayCore
import Bytes
import LibCurl
import Signing

/// Asks stores about uploads, by a signed HEAD. A GET confirms that there is no object where bytes of a quota
/// depend on it.
public struct StoredUploads: UploadVerifier, StoredObjects {
    private let client: OutboundClient
    private let cache: PolicyCache
    private let now: @Sendable () -> Date
    private let signer = URLSigner()

    private static let urlLife = 60
    private static let maxRefusalBytes = 65_536

    /// Makes a verifier.
    ///
    /// - Parameters:
    ///   - client: The client for requests to stores.
    ///   - cache: The cached rows of buckets and credentials.
    ///   - now: The clock of the signatures.
    public init(client: OutboundClient, cache: PolicyCache, now: @escaping @Sendable () -> Date) {
        self.client = client
        self.cache = cache
        self.now = now
    }

    /// Asks for the current object at a key.
    public func look(at key: ObjectKey, in bucket: BucketName) async throws(StoreFailure) -> StoreLook? {
        do {
            // Without its row nobody can ask the store any more.
            guard let (bucket, credential) = try await cache.presentLocation(of: bucket) else { return nil }
            let look = try await head(key, in: bucket, with: credential)
            guard look.object == nil else { return look }
            return try await absence(of: key, in: bucket, with: credential, wasDeleted: look.wasDeleted)
        } catch let error as OutboundError {
            throw error.asStoreFailure
        } catch let error as GatewayError {
            throw StoreFailure(unasked: error)
        } catch {
            throw .unasked(Cause("the store could not be asked: \(type(of: error))"))
        }
    }

    /// Asks for the current object at the key.
    public func object(
        _ key: ObjectKey, in bucket: BucketName, withSHA256: Bool
    ) async throws(GatewayError) -> StoredObject? {
        guard let (bucket, credential) = try await cache.presentLocation(of: bucket) else {
            throw .conflict(reason: "The bucket no longer exists here, so its store cannot be asked.")
        }
        do {
            return try await head(key, in: bucket, with: credential, withSHA256: withSHA256).object
        } catch let error as GatewayError {
            throw error
        } catch let error as OutboundError {
            throw error.asGatewayError
        } catch {
            throw .unavailable(retryAfter: 5, cause: "the store could not be asked: \(type(of: error))")
        }
    }

    private func head(
        _ key: ObjectKey, in bucket: Bucket, with credential: StorageCredential, withSHA256: Bool = false
    ) async throws -> StoreLook {
        let sentAt = now()
        let headers = withSHA256 && bucket.scheme == .awsV4 ? [NamedValue("x-amz-checksum-mode", "ENABLED")] : []
        let url = try signer.url(
            "HEAD", of: key, in: bucket, with: credential, headers: headers, expiresIn: Self.urlLife, at: sentAt)
        var fields: [HTTPTransfer.Field] = headers.map { .init($0.name, $0.value) }
        // Unless the client accepts compressed bytes, Google decompresses them and tells no length (Cloud Storage,
        // "Transcoding of gzip-compressed files").
        if bucket.provider == .gcs { fields.append(.init("accept-encoding", "gzip")) }
        let answer = try await client.send(.head, url.reveal(), fields: fields, maxBytes: 0)
        let answeredAt = now()
        let difference = Self.clockDifference(answer, between: sentAt, and: answeredAt)
        switch answer.status {
        case 200:
            guard let object = StoredObject(answer, at: answeredAt) else { throw OutboundError.status(200) }
            return StoreLook(object: object, clockDifference: difference)
        case 404: return StoreLook(object: nil, wasDeleted: answer.tellsDeletion, clockDifference: difference)
        default: throw OutboundError.status(answer.status)
        }
    }

    /// Asks a store that has answered a HEAD with 404 whether there is no object, in words that only a store uses.
    ///
    /// The answer to a HEAD has no body, so it may also come from a proxy, from a store that lacks the bucket, or from
    /// a symbolic link to nothing.
    /// - Throws: `OutboundError`, also if the answer is any other than `NoSuchKey`.
    private func absence(
        of key: ObjectKey, in bucket: Bucket, with credential: StorageCredential, wasDeleted: Bool
    ) async throws -> StoreLook {
        let sentAt = now()
        let url = try signer.url("GET", of: key, in: bucket, with: credential, expiresIn: Self.urlLife, at: sentAt)
        let answer = try await client.send(
            .get, url.reveal(), fields: [.init("range", "bytes=0-0")], maxBytes: Self.maxRefusalBytes)
        guard answer.status == 404, StoreErrorCode.read(answer) == "NoSuchKey" else {
            throw OutboundError.status(answer.status)
        }
        return StoreLook(
            object: nil, wasDeleted: wasDeleted || answer.tellsDeletion,
            clockDifference: Self.clockDifference(answer, between: sentAt, and: now()))
    }

    /// How far the store's time, in whole seconds, lies outside the time between request and answer.
    private static func clockDifference(
        _ answer: HTTPTransfer.Answer, between sentAt: Date, and answeredAt: Date
    ) -> TimeInterval? {
        guard let date = answer.field("date").flatMap({ SigningInstant(httpDate: $0) }) else { return nil }
        let earliest = TimeInterval(date.epochSeconds)
        return max(
            0, sentAt.timeIntervalSince1970 - (earliest + 1), earliest - answeredAt.timeIntervalSince1970)
    }
}

extension HTTPTransfer.Answer {
    /// Whether the store tells that the object was deleted.
    fileprivate var tellsDeletion: Bool {
        ["x-amz-delete-marker", "x-oss-delete-marker"].contains { field($0)?.lowercased() == "true" }
    }

    /// Whether the entity tag is no digest of the bytes, because of the object's encryption, or because Alibaba OSS
    /// made it of several requests.
    var hidesContentFromETag: Bool {
        fields.contains { field in
            let name = field.name.lowercased()
            return name.hasSuffix("-server-side-encryption-customer-algorithm")
                || (name.hasSuffix("-server-side-encryption") && field.value != "AES256")
                || name == "x-oss-object-type" && field.value != "Normal"
        }
    }
}

extension StoredObject {
    /// Reads the answer to a HEAD; `nil` for one without a length.
    init?(_ answer: HTTPTransfer.Answer, at now: Date) {
        guard let length = answer.contentLength else { return nil }
        var tag = answer.field("etag")?[...]
        if let text = tag, text.utf8.count >= 2, text.hasPrefix("\""), text.hasSuffix("\"") {
            tag = text.dropFirst().dropLast()
        }
        let etag = tag.flatMap { Self.plain($0, 128) }
        self.init(
            size: length, etag: etag, contentType: answer.field("content-type").flatMap { Self.plain($0[...], 255) },
            md5: Self.md5(answer, etag), sha256: Self.sha256(answer, etag),
            modifiedAt: Self.modification(answer, at: now))
    }

    /// Whether a text may go into answers and rows: visible ASCII and spaces only.
    private static func plain(_ text: Substring, _ most: Int) -> String? {
        text.consists(of: .printable, count: 1...most) ? String(text) : nil
    }

    /// The MD5 that the store reports: OSS in a field of its own, Google in a field for several digests, S3 as the
    /// entity tag of an object that was uploaded in one request and is not encrypted with a customer's key.
    private static func md5(_ answer: HTTPTransfer.Answer, _ etag: String?) -> [UInt8]? {
        func decoded(_ text: String?) -> [UInt8]? {
            text.flatMap { Base64.decode($0) }.flatMap { $0.count == 16 ? $0 : nil }
        }
        if let md5 = decoded(answer.field("content-md5")) { return md5 }
        let lines = answer.fields.filter { $0.name.lowercased() == "x-goog-hash" }.map(\.value)
        let hashes: [Substring] = lines.joined(separator: ",").split(separator: ",").map { $0.drop { $0 == " " } }
        if let hash = hashes.first(where: { $0.hasPrefix("md5=") }) { return decoded(String(hash.dropFirst(4))) }
        guard !answer.hidesContentFromETag, let etag, etag.utf8.count == 32 else { return nil }
        return Hex.decode(etag)
    }

    /// The SHA-256 that the store reports. For a multipart upload the value is a checksum of checksums, and ends with
    /// their number.
    private static func sha256(_ answer: HTTPTransfer.Answer, _ etag: String?) -> [UInt8]? {
        let told = answer.field("x-amz-checksum-sha256").flatMap { Base64.decode($0) }
        if let told, told.count == 32 { return told }
        guard let etag, etag.utf8.count == 64 else { return nil }
        return Hex.decode(etag)
    }

    /// The difference between the store's two dates does not depend on its clock.
    private static func modification(_ answer: HTTPTransfer.Answer, at now: Date) -> Date? {
        guard let date = answer.field("date").flatMap({ SigningInstant(httpDate: $0) }),
            let modified = answer.field("last-modified").flatMap({ SigningInstant(httpDate: $0) })
        else { return nil }
        return now.addingTimeInterval(TimeInterval(modified.epochSeconds - date.epochSeconds))
    }
}
