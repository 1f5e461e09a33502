import FoundationEssentials
import LibCrypto
import Signing

/// A string to sign that a client built, described by the request it contains.
struct StringArtefact: Artefact {
    let binding: SchemeBinding
    private let permission: StringPermission

    /// Reads a string that is about to be signed for a bucket.
    init(_ string: PermittedString, for bucket: Bucket) {
        permission = string.permission
        binding =
            switch string.scheme {
            case .version2(.alibaba): .ossV1
            case .version2(.amazon), .version2(.google): bucket.provider == .gcs ? .gcsInteroperable : .awsV2
            case .version4(.alibaba, _, _): .ossV4
            case .version4(.amazon, _, _), .version4(.google, _, _): bucket.binding
            }
    }

    var method: String {
        switch permission.operation {
        case .putObject, .uploadPart: "PUT"
        case .getObject, .listParts: "GET"
        case .headObject, .getObjectMeta: "HEAD"
        case .initiateMultipartUpload, .completeMultipartUpload: "POST"
        case .abortMultipartUpload: "DELETE"
        }
    }

    var maxBytes: Int64? { permission.contentLength }

    var parameterCount: Int { permission.query.count { !Self.harmless.contains($0.name) } }

    func isFor(_ key: ObjectKey, in bucket: BucketName) -> Bool {
        permission.key.isSameBytes(as: key.rawValue) && permission.bucket.isSameBytes(as: bucket.rawValue)
    }

    func isDead(at end: Date) -> Bool {
        permission.validUntil.epochSeconds <= Int64(end.timeIntervalSince1970)
    }

    func binds(header: NamedValue, at place: Int) -> Bool { permission.binds(header) }

    func binds(parameter: NamedValue, at place: Int) -> Bool { permission.query.hold(parameter, at: place) }

    /// Parameters that change neither the object nor what is disclosed about it: how parts are listed and assembled,
    /// and the reduced `HEAD` answer (`objectMeta`).
    private static let harmless: Set<String> = [
        "encoding-type", "max-parts", "objectMeta", "part-number-marker", "sequential",
    ]
}
