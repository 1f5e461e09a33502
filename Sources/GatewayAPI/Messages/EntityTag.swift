import Bytes
import FoundationEssentials
import GatewayCore
import HTTPServing
import HTTPTypes

/// The strong entity tag (RFC 9110, section 8.8.3) of a row.
struct EntityTag: Sendable, Equatable {
    /// The tag with its quotes.
    let text: String

    /// The tag of a revision.
    init(_ revision: UUID) {
        text = "\"\(revision.lowercaseText)\""
    }

    /// The tag of a stored row.
    init<Row>(of stored: Stored<Row>) {
        self.init(stored.revision)
    }
}

/// The condition in `If-Match` (RFC 9110, section 13.1.1).
enum IfMatch: Sendable, Equatable {
    case absent
    /// `*`: the row must exist.
    case any
    /// The row must have one of these tags; a weak tag never matches.
    case tags([String])

    /// Whether a revision meets the condition.
    func admits(_ revision: UUID) -> Bool {
        switch self {
        case .absent, .any: true
        case .tags(let tags): tags.contains(EntityTag(revision).text)
        }
    }

    /// The revision that a row must have when it is removed; `nil` for any.
    func revision<Store: AdminStore>(
        of id: String, in store: Store, within reach: AdminReach
    ) async throws(GatewayError) -> UUID? {
        guard case .tags = self else { return nil }
        let revision = try await store.get(id, within: reach).revision
        guard admits(revision) else { throw .preconditionFailed }
        return revision
    }
}

extension APIRequest {
    /// Reads `If-Match`.
    func ifMatch() throws(GatewayError) -> IfMatch {
        let fields = headers[values: .ifMatch]
        guard !fields.isEmpty else { return .absent }
        let list = fields.joined(separator: ",")
        if list.isSameBytes(as: "*") { return .any }
        var tags: [String] = []
        for piece in list.utf8.split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false) {
            let tag = Substring(piece).trimming { $0 == " " || $0 == "\t" }
            let bytes = tag.utf8.starts(with: "W/".utf8) ? tag.utf8.dropFirst(2) : tag.utf8
            guard bytes.count >= 2, bytes.first == UInt8(ascii: "\""), bytes.last == UInt8(ascii: "\""),
                bytes.dropFirst().dropLast().allSatisfy({ $0 > 0x20 && $0 != 0x22 && $0 != 0x7f })
            else {
                throw .invalidArgument(
                    field: "If-Match", reason: "The value must be quoted entity tags, as in ETag, or '*'.")
            }
            tags.append(String(tag))
        }
        return .tags(tags)
    }
}
