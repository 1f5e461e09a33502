public import Foundation

// What the gateway answers. Members have the names of the contract.

extension Sluice {
    /// A link. Whoever has the URL can use it.
    public struct Link: Sendable, Hashable, Decodable {
        /// Identifies the link in the ledger.
        public let id: String
        /// The method of the request: `PUT`, `GET` or `HEAD`.
        public let method: String
        /// The number of the part, if it is a part that the link uploads.
        public let partNumber: Int?
        /// The bucket.
        public let bucket: String
        /// The key of the object.
        public let key: String
        /// Where to send the request.
        public let url: URL
        /// Headers to send, byte for byte.
        public let headers: [String: String]
        /// When the link ends.
        public let expiresAt: Date
        /// Life of the link in seconds.
        public let expiresIn: Int
        /// Who refuses an upload of another size: `signature`, `policy` or `none`.
        public let enforcedBy: String
    }

    /// A form, which uploads one file.
    public struct Form: Sendable, Hashable, Decodable {
        /// Identifies the form in the ledger.
        public let id: String
        /// The bucket.
        public let bucket: String
        /// The key of the object. Contains `${filename}` if the client names the object.
        public let key: String
        /// Where to send the form.
        public let url: URL
        /// Fields to send before the file.
        public let fields: [String: String]
        /// One of these goes into the field ``contentTypeField``. Absent if `fields` has the type.
        public let contentTypes: [String]?
        /// Name of the field for one of the ``contentTypes``.
        public let contentTypeField: String?
        /// When the form ends.
        public let expiresAt: Date
        /// Life of the form in seconds.
        public let expiresIn: Int
    }

    /// What the gateway knows of an upload.
    public struct Upload: Sendable, Hashable, Decodable {
        /// Identifies the link, the form or the upload in parts in the ledger.
        public let id: String
        /// The bucket.
        public let bucket: String
        /// The key of the object.
        public let key: String
        /// What became of it.
        public let state: UploadState
        /// What differs from what was bound: `size`, `md5`, `sha256` or `type`.
        public let mismatches: [String]?
        /// The length of the object in bytes.
        public let size: Int64?
        /// The entity tag, without quotes.
        public let etag: String?
        /// The type of the object.
        public let contentType: String?
        /// Who told the gateway: `confirmation`, `settlement`, `event` or `completion`.
        public let source: String?
        /// When the gateway learned of the object.
        public let foundAt: Date?
        /// When the upload was permitted.
        public let issuedAt: Date
        /// Until when it was permitted.
        public let expiresAt: Date
    }

    /// What became of an upload.
    public enum UploadState: Sendable, Hashable, Decodable {
        /// Nothing is known to have arrived, and it still can.
        case issued
        /// An object is reported or was found. It is known to fit what was bound if a confirmation found it.
        case landed
        /// Something else is there.
        case mismatched
        /// The object fits, but the store does not tell the SHA-256 that was bound.
        case unverified
        /// Nothing is known to have arrived, and nothing can any more.
        case expired
        /// A state that this version does not know.
        case unknown(String)

        /// Reads the name of a state.
        public init(from decoder: any Decoder) throws {
            let name = try decoder.singleValueContainer().decode(String.self)
            let known: [String: Self] = [
                "issued": .issued, "landed": .landed, "mismatched": .mismatched, "unverified": .unverified,
                "expired": .expired,
            ]
            self = known[name] ?? .unknown(name)
        }
    }

    /// An upload in parts.
    public struct PartsUpload: Sendable, Hashable, Decodable {
        /// Identifies the upload in the ledger.
        public let id: String
        /// The bucket.
        public let bucket: String
        /// The key of the object.
        public let key: String
        /// The type of the object.
        public let contentType: String
        /// The largest length of all parts together, in bytes.
        public let contentLength: Int64?
        /// `open`, `completing`, `completed`, `aborting`, `aborted` or another one.
        public let state: String
        /// The object's entity tag, without quotes, once it exists.
        public let etag: String?
        /// When the upload was started.
        public let createdAt: Date
        /// When the gateway aborts it.
        public let expiresAt: Date
    }

    /// A part that the store has.
    public struct StoredPart: Sendable, Hashable, Decodable {
        /// The number of the part, from 1 on.
        public let partNumber: Int
        /// The entity tag, without quotes.
        public let etag: String
        /// The length of the part in bytes.
        public let size: Int64
        /// When the part arrived.
        public let lastModifiedAt: Date
    }

    /// What a finished upload left.
    public struct UploadResult: Sendable, Hashable {
        /// Identifies the link, the form or the upload in parts in the ledger.
        public let id: String
        /// The bucket.
        public let bucket: String
        /// The key of the object.
        public let key: String
        /// The length of the object in bytes.
        public let size: Int64
        /// The entity tag, without quotes, if the store tells it.
        public let etag: String?
        /// `landed` if the gateway found the object and it is what was bound, or if the store had reported or completed
        /// it and it has been deleted or replaced since; `unverified` if the object fits, but the store does not tell
        /// the SHA-256 that was bound. Absent if the gateway was not asked or could not tell.
        public let state: UploadState?
        /// The number of parts. Absent if one request sent the file.
        public let parts: Int?
    }

    /// What a finished download left.
    public struct DownloadResult: Sendable, Hashable {
        /// The bucket.
        public let bucket: String
        /// The key of the object.
        public let key: String
        /// The length of the file in bytes.
        public let size: Int64
        /// The entity tag, without quotes, if the store tells it.
        public let etag: String?
        /// The type of the object.
        public let contentType: String?
        /// The file.
        public let file: URL
    }
}

/// An item of a batch: what was asked for, or a problem.
struct Outcome<Value: Decodable & Sendable>: Decodable, Sendable {
    let result: Result<Value, SluiceError>

    private enum Key: String, CodingKey {
        case status
    }

    init(from decoder: any Decoder) throws {
        if let status = try decoder.container(keyedBy: Key.self).decodeIfPresent(Int.self, forKey: .status) {
            result = .failure(SluiceError(try Problem(from: decoder), status: status))
        } else {
            result = .success(try Value(from: decoder))
        }
    }
}

struct Results<Value: Decodable & Sendable>: Decodable, Sendable {
    let results: [Outcome<Value>]
}

/// The result of a list with one item. Decoding a refusal throws it.
struct OnlyResult<Value: Decodable & Sendable>: Decodable, Sendable {
    let value: Value

    init(from decoder: any Decoder) throws {
        guard let only = try Results<Value>(from: decoder).results.first else {
            throw DecodingError.dataCorrupted(.init(codingPath: decoder.codingPath, debugDescription: "no results"))
        }
        value = try only.result.get()
    }
}

struct Page<Item: Decodable & Sendable>: Decodable, Sendable {
    let items: [Item]
    let nextPageToken: String?
}

/// No body.
struct Nothing: Codable, Sendable {}

/// JSON as the gateway reads and writes it.
enum Coding {
    static func encode(_ value: some Encodable) throws -> Data {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return try encoder.encode(value)
    }

    static func decode<Value: Decodable>(_ type: Value.Type, from data: Data) throws -> Value {
        let decoder = JSONDecoder()
        decoder.dateDecodingStrategy = .custom { decoder in
            let text = try decoder.singleValueContainer().decode(String.self)
            let hasFraction = text.contains(".")
            return try Date.ISO8601FormatStyle(includingFractionalSeconds: hasFraction).parse(text)
        }
        return try decoder.decode(type, from: data)
    }
}
