import FoundationEssentials
import Bytes
import Signing

/// A presigned URL, described by the request passed to the signer. Signers write every part of that request into the
/// signed data, or refuse; tests verify this.
struct PresignArtefact: Artefact {
    /// The request that is signed.
    let request: PresignRequest
    /// The instant at which the URL's lifetime begins.
    let instant: SigningInstant
    let binding: SchemeBinding
    /// The address from which alone the URL works, as it is passed to the signer.
    var sourceAddress: IPAddress?

    var method: String { request.method }
    var parameterCount: Int { request.query.count }

    func isFor(_ key: String, in bucket: BucketName) -> Bool {
        guard case .slashKept = request.pathForm else { return false }
        return request.key.isSameBytes(as: key) && request.address.bucket.isSameBytes(as: bucket.rawValue)
    }

    func isDead(at end: Date) -> Bool {
        instant.epochSeconds + Int64(request.expiresInSeconds) <= Int64(end.timeIntervalSince1970)
    }

    func binds(header: NamedValue, at place: Int) -> Bool { request.headers.hold(header, at: place) }

    func binds(parameter: NamedValue, at place: Int) -> Bool { request.query.hold(parameter, at: place) }

    var maxBytes: Int64? {
        for header in request.headers {
            if header.name.isSameBytes(as: "content-length") { return Int64(header.value) }
            if let range = binding.lengthRangeHeader, header.name.isSameBytes(as: range) {
                return header.value.utf8.split(separator: UInt8(ascii: ",")).last.flatMap { Int64(Substring($0)) }
            }
        }
        return nil
    }
}
