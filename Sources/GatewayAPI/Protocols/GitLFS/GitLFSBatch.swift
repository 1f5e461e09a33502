import GatewayCore
import HTTPTypes

/// The body of a batch request, as far as it matters here. Git LFS lets clients send further members.
struct GitLFSBatch {
    /// Largest number of objects in a batch.
    static let maxObjects = PresignedURLs.maxBatch
    /// Body limit of a batch, in bytes.
    static let maxBytes = 256 << 10

    let operation: GitLFSLinks.Operation
    let objects: [GitLFSObject]

    /// Reads a body.
    ///
    /// - Throws: `invalidArgument`; a value of ``GitLFSRefusal`` for what Git LFS has a status of its own for.
    init(_ body: JSONObject) throws {
        var body = body
        operation = try body.required("operation", body.word("operation", GitLFSLinks.Operation.self))
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

extension GitLFSObject {
    /// Reads an object.
    init(_ body: JSONObject) throws(GatewayError) {
        var body = body
        let name = try body.required("oid", body.parsed("oid") { (text) throws(GatewayError) in try Name(text) })
        let size = try body.required("size", body.integer("size"))
        self = try body.naming("size") { () throws(GatewayError) in try Self(name: name, size: size) }
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
