public import Signing

/// The keys that a listing shows, and how the store groups and pages them.
///
/// A class, because few requests list.
public final class Listing: Sendable {
    /// The members of `list` as received; `nil` if absent.
    public struct Fields: Sendable, Equatable {
        /// Text at which the store groups keys, such as `/`.
        public var delimiter: String?
        /// Largest number of keys and groups in the answer, 1…1,000.
        public var maxKeys: Int64?
        /// The `NextContinuationToken` of the answer before.
        public var continuationToken: String?
        /// Key after which the listing begins.
        public var startAfter: String?
        /// Only `url`: the store percent-encodes keys in its answer.
        public var encodingType: String?

        /// Creates fields that are all absent.
        public init() {}
    }

    /// Largest number of keys that a store returns at once.
    public static let maxKeys: Int64 = 1000

    /// Text with which each listed key begins: empty for the whole bucket; it may end inside a segment.
    public let prefix: ExactText
    /// The parameters of the request, decoded. The signature binds all of them, so the holder can neither change nor
    /// add one.
    public let query: [NamedValue]

    /// Validates a listing.
    ///
    /// - Parameters:
    ///   - prefix: Up to 1,023 bytes in the form of the beginning of a key.
    ///   - fields: The members of `list`.
    /// - Throws: ``GatewayError/invalidArgument(field:reason:)``.
    init(prefix: String, _ fields: Fields) throws(GatewayError) {
        self.prefix = ExactText(try KeyPrefix(literal: prefix).text)
        var query = [NamedValue("list-type", "2")]
        if !prefix.isEmpty { query.append(NamedValue("prefix", prefix)) }
        if let delimiter = fields.delimiter {
            query.append(NamedValue("delimiter", try Self.text(delimiter, "delimiter", 1...64)))
        }
        if let maxKeys = fields.maxKeys {
            try require(1...Self.maxKeys ~= maxKeys, "list.maxKeys", "The value must be 1 to 1,000.")
            query.append(NamedValue("max-keys", String(maxKeys)))
        }
        if let token = fields.continuationToken {
            query.append(NamedValue("continuation-token", try Self.text(token, "continuationToken", 1...2048)))
        }
        if let startAfter = fields.startAfter {
            query.append(NamedValue("start-after", try Self.text(startAfter, "startAfter", 1...1023)))
        }
        if let encoding = fields.encodingType {
            try require(encoding == "url", "list.encodingType", "The value must be 'url'.")
            query.append(NamedValue("encoding-type", encoding))
        }
        self.query = query
    }

    /// The prefix up to its last `/`. Grants on it, above it and below it affect the listing.
    var folder: ExactText {
        let bytes = prefix.rawValue.utf8
        guard let slash = bytes.lastIndex(of: UInt8(ascii: "/")) else { return ExactText("") }
        return ExactText(String(Substring(bytes[...slash])))
    }

    /// Whether the listing may show a key of an area.
    func shows(_ area: KeyArea) -> Bool {
        let (listed, other) = (prefix.rawValue.utf8, area.prefix.rawValue.utf8)
        return other.starts(with: listed) || area.isDirectory && listed.starts(with: other)
    }

    private static func text(
        _ text: String, _ field: String, _ length: ClosedRange<Int>
    ) throws(GatewayError) -> String {
        try require(
            length ~= text.utf8.count && !text.utf8.contains { $0 < 0x20 || $0 == 0x7F }, "list." + field,
            "The value must be \(length.lowerBound) to \(length.upperBound) bytes without control characters.")
        return text
    }
}

extension ObjectKey {
    /// Creates a key from the prefix of a listing, for grants to be compared with and for the record. No object need
    /// have it, and it may be empty or end in `/`.
    init(ofListing listing: Listing) {
        self.init(unchecked: listing.prefix.rawValue)
    }
}
