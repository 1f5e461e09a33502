public import FoundationEssentials

/// Performs multipart upload operations at stores.
///
/// All methods throw `unavailable` if the store fails or does not answer, in which case the result of the request is
/// unknown. They throw ``GatewayError/storeRefused(status:code:)`` if the store refuses.
public protocol MultipartStore: Sendable {
    /// Starts an upload with a URL that was issued for it; returns the store's upload id.
    func start(_ issued: IssuedURL) async throws(GatewayError) -> String

    /// Completes an upload with a URL that was issued for it.
    func complete(_ issued: IssuedURL, parts: [UploadedPart]) async throws(GatewayError) -> MultipartCompletion

    /// Lists the parts that the store holds of an upload, by ascending number.
    ///
    /// - Parameters:
    ///   - upload: The upload; its id at the store must be known.
    ///   - number: The part number after which the list begins; 0 for the start.
    ///   - count: Maximum number of parts to return, 1…1,000; the store may return fewer.
    /// - Throws: `notFound` if the store does not know the upload.
    func parts(of upload: MultipartUpload, after number: Int, atMost count: Int) async throws(GatewayError)
        -> StoredParts

    /// Aborts an upload at the store; also succeeds if the store says that it does not exist.
    ///
    /// - Returns: Whether the store knew the upload, and so has discarded its parts.
    func abort(_ storeUploadID: String, of upload: MultipartUpload) async throws(GatewayError) -> Bool

    /// Discards what the store still holds of an aborted upload; also succeeds if that is nothing.
    func discard(_ storeUploadID: String, of upload: MultipartUpload) async throws(StoreFailure)

    /// Returns the entity tag of the object at the key, without quotes; `nil` if there is none, or if it was not
    /// assembled from the upload's parts.
    ///
    /// - Parameters:
    ///   - upload: The upload.
    ///   - mayBeComplete: Whether a completion from these parts was sent. If none was, an object whose tag does not
    ///     tell its parts is another upload's.
    func etag(of upload: MultipartUpload, mayBeComplete: Bool) async throws(GatewayError) -> String?
}

/// What a store answers to the completion of an upload.
public enum MultipartCompletion: Sendable, Equatable {
    /// The parts are an object now. Its entity tag has no quotes; `nil` if the store does not report it.
    case done(etag: String?)
    /// The store does not know the upload. If the completion was sent more than once, an earlier one may have
    /// succeeded.
    case unknownUpload(wasRepeated: Bool)
}

/// Stores the gateway's records of multipart uploads.
public protocol MultipartUploadRows: Sendable {
    /// Adds an upload in the state `starting`.
    ///
    /// - Throws: `unavailable`, `slowDown`, like all other methods.
    func insert(_ upload: MultipartUpload) async throws(GatewayError)

    /// Reads an upload; `nil` if there is none.
    func find(_ id: UUID) async throws(GatewayError) -> MultipartUpload?

    /// Records the store's id of an upload and opens the upload. Returns the resulting state: an upload that was given
    /// up in the meantime is not opened and must be aborted.
    func open(_ id: UUID, as storeUploadID: String) async throws(GatewayError) -> MultipartUpload.State

    /// Changes the state of an upload if it is in one of `states`; returns whether it was.
    func move(
        _ id: UUID, from states: Set<MultipartUpload.State>, to change: MultipartChange
    ) async throws(GatewayError) -> Bool

    /// Tests whether the credential of an admin still stands, before something is done that no row tells of.
    ///
    /// - Throws: `staleCaller` if it does not, `unavailable`.
    func prove(_ admin: ChangeContext) async throws(GatewayError)

    /// Changes the state of an upload if it is `state`, and writes to the audit log that an admin aborts the upload,
    /// both or neither; returns whether it was.
    func abort(
        _ id: UUID, from state: MultipartUpload.State, to change: MultipartChange, by admin: ChangeContext
    ) async throws(GatewayError) -> Bool

    /// Records parts that are about to be issued, all or none. An empty list only computes the total length.
    func reserve(_ parts: [ReservedPart], of id: UUID) async throws(GatewayError) -> PartReservation

    /// Removes the records of parts that were not issued, even if the caller hangs up. A failure does not concern the
    /// caller.
    func release(_ issuances: [UUID]) async

    /// Reads a page of uploads, newest first; the filters are `state`, `bucket` and `principal`.
    ///
    /// - Throws: `invalidArgument` for an unknown filter or an invalid token.
    func list(_ query: ListQuery) async throws(GatewayError) -> Page<MultipartUpload>
}

/// A change of an upload's state.
public enum MultipartChange: Sendable, Equatable {
    /// The store does not have these parts, so that no object was made of them, and others can be uploaded. An upload
    /// that is being completed from other parts stays as it is.
    case refused([UploadedPart])
    /// The gateway is about to ask the store to assemble the object.
    case completing([UploadedPart])
    /// The store assembled the object from these parts, whatever else was tried. It is not certain if the store no
    /// longer knew the upload and the entity tag of the object does not tell its parts: then somebody else may have
    /// completed the upload from any parts.
    case completed([UploadedPart], etag: String?, isCertain: Bool)
    /// The gateway is about to ask the store to discard the parts.
    case aborting
    /// The store holds no parts of the upload any more that it knew by this identifier; `nil` if the store was not
    /// asked, because none is known. An upload that has another one by now stays as it is. If the store did not know
    /// the upload, or cannot be asked because the bucket was removed, somebody may have completed it without the
    /// gateway.
    case aborted(as: String?, mayBeComplete: Bool)
}

/// A part that is about to be issued.
public struct ReservedPart: Sendable, Hashable {
    /// The id that the issuance will have.
    public var issuance: UUID
    /// Part number, 1…10,000.
    public var number: Int
    /// The bound length in bytes, if any.
    public var contentLength: Int64?

    /// Creates a record of a part.
    public init(issuance: UUID, number: Int, contentLength: Int64?) {
        self.issuance = issuance
        self.number = number
        self.contentLength = contentLength
    }
}

/// The result of reserving parts.
public enum PartReservation: Sendable, Equatable {
    /// The parts are recorded. `objectLength` is the total length of all parts in bytes, or `nil` if the length of a
    /// part is unknown.
    case reserved(objectLength: Int64?)
    /// The upload does not accept parts.
    case closed
    /// All parts together would exceed the maximum stated at the start.
    case tooLarge(maxBytes: Int64)
    /// The upload has a maximum length, so each part must state its length.
    case lengthRequired
}
