import FoundationEssentials
import HTTPServing
import Signing

/// Carries out the operations of the store on its files, and reports what changes. Its callers have verified the
/// requests, and checked that the bucket exists.
struct ObjectService: Sendable {
    let files: ObjectFiles
    /// Maximum size of an object in bytes.
    let maxObjectBytes: Int64
    /// Where changes are reported; `nil` to report nothing.
    let outlet: StoreOutlet?

    /// The most entries of one answer.
    static let maxListed = 1000
    /// Maximum size of a document in a body, in bytes: a list of 10,000 parts fits.
    static let maxDocumentBytes = 2 << 20

    /// Reports a change to the gateway.
    func report(
        _ record: ObjectRecord, in bucket: String, as kind: ObjectChange.Kind, at instant: SigningInstant
    ) {
        outlet?.add(
            ObjectChange(kind: kind, bucket: bucket, record: record, milliseconds: instant.epochSeconds * 1000))
    }

    /// Sends the callback of an upload; `nil` if it asked for none.
    func answer(
        to callback: OSSCallback?, _ record: ObjectRecord, in bucket: String
    ) async throws -> ServerResponse? {
        try await callback?.send(through: outlet, record, in: bucket, requestID: UUID().uuidString)
    }
}
