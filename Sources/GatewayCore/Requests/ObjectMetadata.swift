import Bytes
import Signing

/// Metadata of an object, sent as `x-amz-meta-…` headers or the store's equivalent.
public struct ObjectMetadata: Sendable, Equatable {
    /// One metadata entry.
    public struct Entry: Sendable, Equatable {
        /// Name in lower case, without `x-amz-meta-`.
        public let name: String
        /// Value of visible ASCII characters and inner spaces.
        public let value: String
    }

    /// Largest number of entries per object.
    public static let maxCount = 64
    /// Largest total length of all names and values, in bytes. The stores have the same limit.
    static let maxByteCount = 2048

    /// No metadata.
    static let none = ObjectMetadata(entries: [])

    /// The entries, sorted by name.
    public let entries: [Entry]

    private init(entries: [Entry]) {
        self.entries = entries
    }

    /// Why no entry can have a name; `nil` if one can.
    public static func flaw(ofName name: String) -> String? {
        guard name.consists(of: .token, count: 1...128) else {
            let shown = name.count <= 64 ? name : name.prefix(64) + "…"
            return "The name '\(shown)' must be 1 to 128 characters that a header name allows."
        }
        return ReservedMetadata.contains(name) ? "The name '\(name)' has a meaning of its own for some stores." : nil
    }

    /// Validates metadata.
    ///
    /// - Parameter values: Up to 64 values by name, 2 KiB in total. Names are tokens and must differ in more than case.
    /// - Throws: ``GatewayError/invalidArgument(field:reason:)`` for `metadata`, or for the entry with a bad value.
    public init(_ values: [String: String]) throws(GatewayError) {
        guard values.count <= Self.maxCount else { throw Self.refusal("At most 64 entries are allowed.") }
        var byteCount = 0
        var entries: [Entry] = []
        for (name, value) in values.sorted(by: { $0.key < $1.key }) {
            if let flaw = Self.flaw(ofName: name) { throw Self.refusal(flaw) }
            guard value.isHeaderValue else {
                throw .invalidArgument(field: "metadata.\(name)", reason: Self.valueReason(name))
            }
            byteCount += name.utf8.count + value.utf8.count
            entries.append(Entry(name: name.lowercased(), value: value))
        }
        guard byteCount <= Self.maxByteCount else {
            throw Self.refusal("Names and values must not exceed 2,048 bytes in all.")
        }
        entries.sort { $0.name < $1.name }
        guard !zip(entries, entries.dropFirst()).contains(where: { $0.name == $1.name }) else {
            throw Self.refusal("Two names must not differ only in case.")
        }
        self.entries = entries
    }

    private static func valueReason(_ name: String) -> String {
        """
        The value of '\(name)' must be 1 to 1,024 visible ASCII characters, with spaces only inside; encode others, \
        for example with encodeURIComponent.
        """
    }

    private static func refusal(_ reason: String) -> GatewayError {
        .invalidArgument(field: "metadata", reason: reason)
    }
}
