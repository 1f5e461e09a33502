import FoundationEssentials
import GatewayCore
import StrictJSON

/// A kind of row that is listed, read and deleted, with its JSON form.
protocol ListedResource: ValidatedRow {
    /// Query parameters that narrow a list.
    static var filters: [ListFilter] { get }

    /// Refuses filters of a list that work only together.
    static func check(_ filters: [String: String]) throws(GatewayError)

    /// Writes the members of a row, without secrets.
    func write(to json: inout JSONWriter)

    /// Parses the segments of a path that name a row as its identifier; `nil` where no row can have it.
    static func identifier(from segments: [String]) -> String?
}

/// A kind of row that admins create and change, too.
protocol AdminResource: ListedResource {
    /// The path of the collection.
    static var collectionPath: String { get }

    /// Whether no two rows may say the same, so that a creation may ask for the row that exists.
    static var hasTwins: Bool { get }

    /// Reads a new row from its members.
    init(_ body: inout JSONObject, as new: NewRow) throws(GatewayError)

    /// Reads a row that replaces another. It keeps the secrets of the old row where the body has none.
    init(_ body: inout JSONObject, as new: NewRow, over old: Self) throws(GatewayError)

    /// Members of answers that the gateway sets. A change may repeat them unchanged.
    static var ownMembers: Set<String> { get }
    /// Members of answers that vary by themselves. A change may repeat them, and they are ignored.
    static var passingMembers: Set<String> { get }
    /// Members that never change in the life of a row. A change may repeat them unchanged.
    static var lastingMembers: Set<String> { get }

    /// Copies from the old row the values that no change touches.
    mutating func keep(_ old: Self)
}

extension AdminResource {
    static var ownMembers: Set<String> { ["id", "createdAt"] }
    static var passingMembers: Set<String> { [] }
    static var lastingMembers: Set<String> { [] }
    static var hasTwins: Bool { false }

    /// Keeps nothing, for rows whose `init(_:as:over:)` keeps what it must.
    mutating func keep(_ old: Self) {}

    init(_ body: inout JSONObject, as new: NewRow, over old: Self) throws(GatewayError) {
        try self.init(&body, as: new)
        keep(old)
    }
}

extension ListedResource {
    static func check(_ filters: [String: String]) throws(GatewayError) {}

    /// Parses a UUID, the identifier of most kinds of rows.
    static func identifier(from segments: [String]) -> String? {
        UUID(uuidString: segments[0])?.uuidString.lowercased()
    }
}
