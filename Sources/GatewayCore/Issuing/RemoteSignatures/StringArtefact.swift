import FoundationEssentials
import Bytes
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
            case .version2(.amazon), .version2(.google): .ofVersion2(at: bucket)
            case .version4(.alibaba, _, _): .ossV4
            case .version4(.amazon, _, _), .version4(.google, _, _): bucket.binding
            }
    }

    var method: String {
        switch permission.operation {
        case .putObject, .uploadPart: "PUT"
        case .getObject, .listParts, .listObjects: "GET"
        case .headObject, .getObjectMeta: "HEAD"
        case .initiateMultipartUpload, .completeMultipartUpload: "POST"
        case .abortMultipartUpload, .deleteObject: "DELETE"
        }
    }

    var maxBytes: Int64? { permission.contentLength }

    var parameterCount: Int {
        // In a listing, an empty value means the same as none.
        let isListing = permission.operation == .listObjects
        return permission.query.count { !Self.harmless.contains($0.name) && !(isListing && $0.value.isEmpty) }
    }

    func isFor(_ key: String, in bucket: BucketName) -> Bool {
        permission.key.isSameBytes(as: key) && permission.bucket.isSameBytes(as: bucket.rawValue)
    }

    func isDead(at end: Date) -> Bool {
        permission.validUntil.epochSeconds <= Int64(end.timeIntervalSince1970)
    }

    func binds(header: NamedValue, at place: Int) -> Bool { permission.binds(header) }

    func binds(parameter: NamedValue, at place: Int) -> Bool { permission.query.hold(parameter, at: place) }

    /// Parameters that change neither the object nor what is disclosed about it: how parts are listed and assembled,
    /// how keys are written in an answer, and the reduced `HEAD` answer (`objectMeta`).
    private static let harmless: Set<String> = [
        "encoding-type", "fetch-owner", "max-parts", "objectMeta", "part-number-marker", "sequential",
    ]
}
