public import Foundation

/// Speaks to stores about uploads in parts.
///
/// All throw `unavailable` where the store does not answer or fails, so that nobody knows what became of the request, and
/// ``GatewayError/storeRefused(status:code:)`` where it said no.
public protocol MultipartStore: Sendable {
    /// Starts an upload by a URL that was issued for it; gives the store's identifier.
    func start(_ issued: IssuedURL) async throws(GatewayError) -> String

    /// Puts the parts of an upload together by a URL that was issued for it; gives the object's entity tag, without
    /// quotes, where the store tells it.
    func complete(_ issued: IssuedURL, parts: [UploadedPart]) async throws(GatewayError) -> String?

    /// The parts that the store has of an upload, by ascending number.
    ///
    /// - Parameters:
    ///   - upload: The upload, whose identifier at the store is known.
    ///   - number: The number after which the list begins; 0 for its start.
    ///   - count: Most parts of the answer, 1…1,000; the store may give fewer.
    /// - Throws: `notFound` where the store does not know the upload.
    func parts(of upload: MultipartUpload, after number: Int, atMost count: Int) async throws(GatewayError)
        -> StoredParts

    /// Has the store forget an upload; also succeeds where there is none.
    func abort(_ storeUploadID: String, of upload: MultipartUpload) async throws(GatewayError)

    /// The uploads that are under way on the key of an upload: their identifiers and when they were started.
    func underWay(on upload: MultipartUpload) async throws(GatewayError) -> [(storeUploadID: String, startedAt: Date)]

    /// Whether the object that lies under the key is the one that an upload's parts make.
    func holdsObject(of upload: MultipartUpload) async throws(GatewayError) -> Bool
}

/// Remembers uploads in parts.
public protocol MultipartUploadRows: Sendable {
    /// Adds an upload, in the state `starting`.
    ///
    /// - Throws: `unavailable`, `slowDown`, as do all the others.
    func insert(_ upload: MultipartUpload) async throws(GatewayError)

    /// Reads an upload.
    func find(_ id: UUID) async throws(GatewayError) -> MultipartUpload?

    /// Writes down what the store calls an upload, and opens it; one that was given up meanwhile is to be aborted instead.
    func open(_ id: UUID, as storeUploadID: String) async throws(GatewayError) -> MultipartUpload.State

    /// Changes the state of an upload if it is in one of some; answers whether it was.
    func move(
        _ id: UUID, from states: Set<MultipartUpload.State>, to change: MultipartChange
    ) async throws(GatewayError) -> Bool

    /// Writes down parts that are about to be issued, all or none; with none only adds up.
    func reserve(_ parts: [ReservedPart], of id: UUID) async throws(GatewayError) -> PartReservation

    /// Takes back parts that were not issued.
    func release(_ issuances: [UUID]) async throws(GatewayError)

    /// The store's identifiers of all uploads that are known on the key of an upload.
    func storeUploadIDs(besides upload: MultipartUpload) async throws(GatewayError) -> Set<String>

    /// Writes into the audit that an admin has an upload aborted.
    func noteAbort(of id: UUID, by change: ChangeContext) async throws(GatewayError)

    /// Reads a page of uploads, the oldest first; filters are `state`, `bucket` and `principal`.
    ///
    /// - Throws: `invalidArgument` for a filter or token that is not ours.
    func list(_ query: ListQuery) async throws(GatewayError) -> Page<MultipartUpload>
}

/// What becomes of an upload.
public enum MultipartChange: Sendable, Equatable {
    /// Parts can be uploaded again.
    case open
    /// The store is about to be asked for the object.
    case completing([UploadedPart])
    /// The object is there.
    case completed(etag: String?)
    /// The store is about to be asked to forget it.
    case aborting
    /// Nothing is left of it.
    case aborted
}

/// A part that is about to be issued.
public struct ReservedPart: Sendable, Equatable {
    /// Identifier that the issuance will have.
    public var issuance: UUID
    /// 1…10,000.
    public var number: Int
    /// Length that is bound, in bytes, if any.
    public var contentLength: Int64?

    /// Names a part.
    public init(issuance: UUID, number: Int, contentLength: Int64?) {
        self.issuance = issuance
        self.number = number
        self.contentLength = contentLength
    }
}

/// What became of the wish to issue parts.
public enum PartReservation: Sendable, Equatable {
    /// They are written down; all parts together have so many bytes, `nil` where the length of one is not known.
    case reserved(objectLength: Int64?)
    /// The upload takes no parts.
    case closed
    /// All parts together would have more bytes than was said at the start.
    case tooLarge(maxBytes: Int64)
    /// The upload has a length, so that each of its parts must have one.
    case lengthRequired
}
