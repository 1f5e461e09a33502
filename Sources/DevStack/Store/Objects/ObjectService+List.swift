import Bytes
import HTTPServing
import Signing

extension ObjectService {
    /// Lists the objects of a bucket, in version 2 of the operation or, without `list-type`, in version 1.
    func list(_ bucket: String, _ request: StoreRequest, _ dialect: StoreDialect) throws -> ServerResponse {
        let query = try ListingQuery(request)
        let page = ListPage(try files.records(bucket, prefix: query.prefix), query)
        let encode: (String) -> String = { query.encodesKeys ? PercentText.encode($0.utf8, keepingSlashes: true) : $0 }
        var children = [
            StoreXML("Name", bucket), StoreXML("Prefix", encode(query.prefix)),
            StoreXML("MaxKeys", "\(query.maxKeys)"), StoreXML("Delimiter", encode(query.delimiter)),
            StoreXML("IsTruncated", "\(page.next != nil)"),
        ]
        if query.encodesKeys { children.append(StoreXML("EncodingType", "url")) }
        if query.isVersion2 {
            children.append(StoreXML("KeyCount", "\(page.records.count + page.prefixes.count)"))
            if let token = try request.parameter("continuation-token") {
                children.append(StoreXML("ContinuationToken", token))
            }
            if let next = page.next { children.append(StoreXML("NextContinuationToken", Hex.encode(Array(next.utf8)))) }
        } else {
            children.append(StoreXML("Marker", encode(query.after)))
            if let next = page.next { children.append(StoreXML("NextMarker", encode(next))) }
        }
        children += page.records.map { record in
            StoreXML(
                "Contents",
                [
                    StoreXML("Key", encode(record.key)), StoreXML("LastModified", Self.time(record.modifiedAt)),
                    StoreXML("ETag", record.entityTag), StoreXML("Size", "\(record.byteCount)"),
                    StoreXML("Type", "Normal"), StoreXML("StorageClass", dialect == .s3 ? "STANDARD" : "Standard"),
                ])
        }
        children += page.prefixes.map { StoreXML("CommonPrefixes", [StoreXML("Prefix", encode($0))]) }
        return StoreXML("ListBucketResult", namespace: dialect == .s3 ? StoreXML.s3 : nil, children).response()
    }

    /// A time as listings show it, with milliseconds.
    static func time(_ epochSeconds: Int64) -> String {
        SigningInstant(clampingEpochSeconds: epochSeconds).extended.dropLast() + ".000Z"
    }
}

/// The parameters of a listing.
struct ListingQuery: Sendable {
    let isVersion2: Bool
    let prefix: String
    let delimiter: String
    let maxKeys: Int
    /// The listing begins after this key.
    let after: String
    let encodesKeys: Bool

    /// Reads the parameters.
    init(_ request: StoreRequest) throws(StoreError) {
        let type = try request.parameter("list-type")
        guard type == nil || type == "2" else { throw .invalidArgument("Invalid list-type") }
        isVersion2 = type == "2"
        prefix = try request.parameter("prefix") ?? ""
        delimiter = try request.parameter("delimiter") ?? ""
        maxKeys = try Self.count(request.parameter("max-keys"), "max-keys")
        encodesKeys = try Self.encodesKeys(request)
        if let token = try request.parameter("continuation-token"), isVersion2, !token.isEmpty {
            guard let bytes = Hex.decode(token), let key = String(validating: bytes, as: UTF8.self) else {
                throw .invalidArgument("The continuation token provided is incorrect")
            }
            after = key
        } else {
            let name = isVersion2 ? "start-after" : "marker"
            after = try request.parameter(name) ?? ""
        }
    }

    /// Whether the answer shows keys percent-encoded.
    static func encodesKeys(_ request: StoreRequest) throws(StoreError) -> Bool {
        let encoding = try request.parameter("encoding-type")
        guard encoding == nil || encoding == "url" else { throw .invalidArgument("Invalid Encoding Method specified") }
        return encoding == "url"
    }

    /// Reads a number of entries; the most are ``ObjectService/maxListed``.
    static func count(_ text: String?, _ name: String) throws(StoreError) -> Int {
        guard let text else { return ObjectService.maxListed }
        guard text.utf8.allSatisfy({ 0x30...0x39 ~= $0 }), let number = Int(text) else {
            throw .invalidArgument("Argument \(name) must be an integer between 0 and 2147483647")
        }
        return min(number, ObjectService.maxListed)
    }
}

/// One page of a listing.
struct ListPage: Sendable {
    private(set) var records: [ObjectRecord] = []
    private(set) var prefixes: [String] = []
    /// The last entry of this page, if another page follows.
    private(set) var next: String?

    /// Selects a page of records, which are ordered by their keys.
    init(_ all: [ObjectRecord], _ query: ListingQuery) {
        var last = query.after
        for record in all {
            let group = Self.group(of: record.key, query)
            let entry = group ?? record.key
            // Everything up to the last entry was listed, and so was every key of a group that was.
            guard last.utf8.lexicographicallyPrecedes(entry.utf8) else { continue }
            guard records.count + prefixes.count < query.maxKeys else {
                next = query.maxKeys == 0 ? nil : last
                return
            }
            if let group { prefixes.append(group) } else { records.append(record) }
            last = entry
        }
    }

    /// The common prefix that represents a key: up to the first delimiter after the prefix.
    private static func group(of key: String, _ query: ListingQuery) -> String? {
        guard !query.delimiter.isEmpty else { return nil }
        let rest = Array(key.utf8.dropFirst(query.prefix.utf8.count))
        let delimiter = Array(query.delimiter.utf8)
        guard rest.count >= delimiter.count,
            let start = (0...(rest.count - delimiter.count)).first(where: { rest[$0...].starts(with: delimiter) })
        else { return nil }
        return query.prefix + String(decoding: rest[..<(start + delimiter.count)], as: UTF8.self)
    }
}
