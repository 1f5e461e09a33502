import GatewayCore
import HTTPServing
import HTTPTypes
import Bytes
import StrictJSON

/// Where the uploads of a caller go: what the ticket permits, or what the headers `Sluice-Bucket` and `Sluice-Prefix`
/// name beside a bearer token.
struct CompanionPlace {
    let bucket: BucketName
    /// A prefix that ends in a slash or is empty, below which the gateway names objects; otherwise the key of the one
    /// object that there may be.
    let prefix: String

    /// Reads the place.
    ///
    /// - Throws: ``GatewayError/invalidArgument(field:reason:)`` for `Sluice-Bucket` or `Sluice-Prefix`.
    init(of caller: Caller, in request: APIRequest) throws(GatewayError) {
        if let ticket = caller.ticket {
            (bucket, prefix) = (ticket.bucket, ticket.prefix.rawValue)
            return
        }
        guard let name = request.headers[.sluiceBucket] else {
            throw .invalidArgument(
                field: "Sluice-Bucket",
                reason: "Name the bucket in the header Sluice-Bucket (the option 'headers' of @uppy/aws-s3).")
        }
        bucket = try BucketName(name)
        // Pages can put no other characters into a header than those of Latin-1.
        let encoded = request.headers[.sluicePrefix] ?? ""
        guard let decoded = PercentEncoding.text(encoded.utf8, plusIsSpace: false) else {
            throw .invalidArgument(
                field: "Sluice-Prefix",
                reason: "Sluice-Prefix must be percent-encoded UTF-8; write a '%' of the prefix itself as '%25'.")
        }
        prefix = decoded
    }

    /// Returns the key, or prefix and extension of a key that the gateway makes.
    func key(for file: CompanionFile) -> (key: String?, prefix: String?, fileExtension: String?) {
        prefix.isEmpty || prefix.utf8.last == UInt8(ascii: "/")
            ? (nil, prefix, file.fileExtension) : (prefix, nil, nil)
    }
}

/// A file as Uppy describes it.
struct CompanionFile {
    /// The extension of the name, if it has one that is plain.
    let fileExtension: String?
    let type: String
    let metadata: [String: String]?

    /// Reads `filename`, `type` and `metadata[name]` from the query.
    init(query request: APIRequest) throws(GatewayError) {
        var metadata: [String: String] = [:]
        for pair in request.match.target?.query ?? [] {
            let name = pair.name.utf8
            guard name.starts(with: "metadata[".utf8), name.last == UInt8(ascii: "]") else { continue }
            metadata[String(Substring(name.dropFirst("metadata[".utf8.count).dropLast()))] = pair.value
        }
        try self.init(name: request.query("filename"), type: request.query("type"), metadata)
    }

    /// Reads `filename`, `type` and `metadata` from the body. Members that Companion would pass over are passed over.
    init(body request: APIRequest) throws {
        guard case .object(let members) = try request.jsonValue() else {
            throw GatewayError.invalidArgument(field: "filename", reason: "Send a JSON object with 'filename'.")
        }
        var texts: [String: String] = [:]
        var metadata: [String: String] = [:]
        for member in members {
            switch member.value {
            case .string(let text): texts[member.name] = text
            case .object(let entries) where member.name == "metadata":
                for entry in entries { if case .string(let text) = entry.value { metadata[entry.name] = text } }
            default: break
            }
        }
        try self.init(name: texts["filename"], type: texts["type"], metadata)
    }

    /// Content type of files whose type the browser does not know.
    private static let unknownType = "application/octet-stream"

    /// Reads a file from its parts as the client sent them.
    init(name: String?, type: String?, _ metadata: [String: String]) throws(GatewayError) {
        guard let name, !name.isEmpty else {
            throw .invalidArgument(field: "filename", reason: "The file must have a name.")
        }
        fileExtension = Self.fileExtension(of: name)
        self.type = type.flatMap { $0.isEmpty ? nil : $0 } ?? Self.unknownType
        // Pages send all that they know of a file.
        let kept = metadata.filter { ObjectMetadata.flaw(ofName: $0.key) == nil }.compactMapValues(Self.headerText)
        self.metadata = kept.isEmpty ? nil : kept
    }

    private static func fileExtension(of name: String) -> String? {
        guard let dot = name.utf8.lastIndex(of: UInt8(ascii: ".")), dot != name.startIndex else { return nil }
        let text = name[name.utf8.index(after: dot)...]
        return text.consists(of: .alphanumeric, count: 1...32) ? String(text) : nil
    }

    /// The value as a header can carry it; one with other characters than ASCII in the form of RFC 2047, as Companion
    /// sends it. `nil` for what JavaScript makes of nothing.
    private static func headerText(_ value: String) -> String? {
        guard !["", "null", "undefined"].contains(value) else { return nil }
        let isPlain =
            value.utf8.allSatisfy(ByteSet.printable.contains) && value.utf8.first != 0x20 && value.utf8.last != 0x20
        return isPlain ? value : "=?UTF-8?B?\(Base64.encode(Array(value.utf8)))?="
    }
}
