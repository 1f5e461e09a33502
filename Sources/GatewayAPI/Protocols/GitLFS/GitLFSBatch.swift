import GatewayCore
import HTTPTypes
import Bytes

/// The body of a batch request, as far as it matters here. Git LFS lets clients send further members.
struct GitLFSBatch {
    /// Largest number of objects in a batch.
    static let maxObjects = PresignedURLs.maxBatch
    /// Body limit of a batch, in bytes.
    static let maxBytes = 256 << 10

    /// What the client wants to do.
    enum Operation: String, CaseIterable {
        case download
        case upload
    }

    let operation: Operation
    let objects: [GitLFSObject]

    /// Reads a body.
    ///
    /// - Throws: `invalidArgument`; a value of ``GitLFSRefusal`` for what Git LFS has a status of its own for.
    init(_ body: JSONObject) throws {
        var body = body
        operation = try body.required("operation", body.word("operation", Operation.self))
        if let transfers = try body.strings("transfers"), !transfers.contains("basic") {
            throw body.invalid("transfers", "The only transfer here is 'basic'.")
        }
        if let algorithm = try body.string("hash_algo"), algorithm != "sha256" {
            throw GitLFSRefusal.hashAlgorithm
        }
        let items = try body.required("objects", body.values("objects", atMost: .max))
        guard items.count <= Self.maxObjects else { throw GitLFSRefusal.tooManyObjects }
        objects = try items.enumerated().map { try GitLFSObject(JSONObject($1, at: "objects[\($0)]")) }
    }
}

/// An object of Git LFS: named by the SHA-256 of its bytes.
struct GitLFSObject {
    /// SHA-256 of the bytes, 64 hexadecimal digits in lower case.
    let oid: String
    /// Number of bytes.
    let size: Int64

    /// Reads an object.
    init(_ body: JSONObject) throws(GatewayError) {
        var body = body
        oid = try body.required("oid", body.string("oid"))
        guard oid.utf8.count == 64, Hex.decode(oid) != nil, oid == oid.lowercased() else {
            throw body.invalid("oid", "An object is named by 64 hexadecimal digits in lower case.")
        }
        size = try body.required("size", body.integer("size"))
        guard size >= 0 else { throw body.invalid("size", "The size must not be negative.") }
    }

    /// The key of the object below a prefix: two levels of folders, as Git LFS itself stores objects.
    func key(below prefix: String) -> String {
        let digits = oid.utf8
        return prefix + String(Substring(digits.prefix(2))) + "/" + String(Substring(digits.dropFirst(2).prefix(2)))
            + "/" + oid
    }

    /// The fields of a request for a link.
    ///
    /// - Parameters:
    ///   - operation: What the link is for.
    ///   - bucket: Name of the bucket.
    ///   - prefix: Prefix of the key.
    ///   - bindsDigest: Whether the link is to bind the SHA-256 of an upload.
    func fields(
        to operation: GitLFSBatch.Operation, in bucket: String, below prefix: String, bindsDigest: Bool
    ) -> IssueRequest.Fields {
        var fields = IssueRequest.Fields()
        fields.bucket = bucket
        fields.key = key(below: prefix)
        switch operation {
        case .download: fields.action = Action.getObject.rawValue
        case .upload:
            fields.action = Action.putObject.rawValue
            fields.contentType = "application/octet-stream"
            fields.contentLength = size
            fields.ifNoneMatch = "*"
            if bindsDigest { fields.checksumSHA256 = Hex.decode(oid).map { Base64.encode($0) } }
        }
        return fields
    }
}

/// A refusal for which Git LFS has a status of its own.
enum GitLFSRefusal: Error {
    /// Objects are named by another hash.
    case hashAlgorithm
    /// The batch is too long.
    case tooManyObjects

    var status: HTTPResponse.Status {
        switch self {
        case .hashAlgorithm: .conflict
        case .tooManyObjects: .contentTooLarge
        }
    }

    /// A sentence for people.
    var message: String {
        switch self {
        case .hashAlgorithm: "Objects are named by their SHA-256 here."
        case .tooManyObjects: "A batch may have at most \(GitLFSBatch.maxObjects) objects."
        }
    }
}
