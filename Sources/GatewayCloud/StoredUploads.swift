import FoundationEssentials
public import GatewayCore
import Bytes
import LibCurl
import Signing

/// Asks stores about uploads, by a signed HEAD. A GET confirms that there is no object where bytes of a quota
/// depend on it.
public struct StoredUploads: UploadVerifier, StoredObjects {
    private let calls: StoreCalls

    /// Makes a verifier on the requests to stores.
    public init(_ calls: StoreCalls) {
        self.calls = calls
    }

    /// Asks for the current object at a key.
    public func look(at key: ObjectKey, in bucket: BucketName) async throws(StoreFailure) -> StoreLook? {
        do throws(StoreCallError) {
            // Without its row nobody can ask the store any more.
            guard let (bucket, credential) = try await calls.location(of: bucket) else { return nil }
            let look = try await calls.head(key, in: bucket, with: credential).look
            guard look.object == nil else { return look }
            return try await absence(of: key, in: bucket, with: credential, wasDeleted: look.wasDeleted)
        } catch {
            throw error.asStoreFailure
        }
    }

    /// Asks for the current object at the key.
    public func object(
        _ key: ObjectKey, in bucket: BucketName, withSHA256: Bool
    ) async throws(GatewayError) -> StoredObject? {
        do throws(StoreCallError) {
            guard let (bucket, credential) = try await calls.location(of: bucket) else {
                throw .unasked(
                    .conflict(reason: "The bucket no longer exists here, so its store cannot be asked."))
            }
            return try await calls.head(key, in: bucket, with: credential, withSHA256: withSHA256).look.object
        } catch {
            throw error.asGatewayError
        }
    }

    /// Asks a store that has answered a HEAD with 404 whether there is no object, in words that only a store uses.
    ///
    /// The answer to a HEAD has no body, so it may also come from a proxy, from a store that lacks the bucket, or from
    /// a symbolic link to nothing.
    /// - Throws: ``StoreCallError``, also if the answer is any other than `NoSuchKey`.
    private func absence(
        of key: ObjectKey, in bucket: Bucket, with credential: StorageCredential, wasDeleted: Bool
    ) async throws(StoreCallError) -> StoreLook {
        let sentAt = calls.now()
        let answer = try await calls.ask(
            "GET", .get, for: key, in: bucket, with: credential, fields: [.init("range", "bytes=0-0")])
        guard answer.status == 404, StoreErrorCode.read(answer) == "NoSuchKey" else {
            throw .failed(.status(answer.status))
        }
        return StoreLook(
            object: nil, wasDeleted: wasDeleted || answer.tellsDeletion,
            clockDifference: answer.clockDifference(by: "date", between: sentAt, and: calls.now()))
    }
}

extension HTTPTransfer.Answer {
    /// Whether the store tells that the object was deleted.
    var tellsDeletion: Bool {
        ["x-amz-delete-marker", "x-oss-delete-marker"].contains { field($0)?.lowercased() == "true" }
    }

    /// How far the time in a field, in whole seconds, lies outside the time between a request and its answer; `nil` if
    /// the field has no time.
    func clockDifference(by field: String, between sentAt: Date, and answeredAt: Date) -> TimeInterval? {
        guard let instant = self.field(field).flatMap({ SigningInstant(httpDate: $0) }) else { return nil }
        let earliest = TimeInterval(instant.epochSeconds)
        return max(
            0, sentAt.timeIntervalSince1970 - (earliest + 1), earliest - answeredAt.timeIntervalSince1970)
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
        let etag = answer.field("etag").flatMap { Self.plain($0.withoutQuotes, 128) }
        self.init(
            size: length, etag: etag, contentType: answer.field("content-type").flatMap { Self.plain($0, 255) },
            md5: Self.md5(answer, etag), sha256: Self.sha256(answer, etag),
            modifiedAt: Self.modification(answer, at: now))
    }

    /// Whether a text may go into answers and rows: visible ASCII and spaces only.
    private static func plain(_ text: String, _ most: Int) -> String? {
        text.consists(of: .printable, count: 1...most) ? text : nil
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
