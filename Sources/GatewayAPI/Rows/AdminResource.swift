import Foundation
import GatewayCore
import StrictJSON

/// A kind of row that admins create, read, list, change and delete, with its JSON form.
protocol AdminResource: Sendable {
    /// The kind in error codes such as `NoSuchBucket`.
    static var kind: ResourceKind { get }
    /// Query parameters that narrow a list.
    static var filters: [ListFilter] { get }
    /// The path of the collection.
    static var collectionPath: String { get }

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

    /// Refuses a row that could not work; returns the row in the form in which it is stored.
    func validated() throws(GatewayError) -> Self

    /// The identifier in paths.
    var identifier: String { get }

    /// Writes the members of a row, without secrets.
    func write(to json: inout JSONWriter)

    /// Parses a path segment as an identifier; `nil` where no row can have it.
    static func identifier(from segment: String) -> String?
}

/// The values that the gateway gives a new row.
struct NewRow: Sendable {
    /// A new UUIDv7.
    let id: UUID
    /// The value of `createdAt` until the store sets its own.
    let now: Date
    /// The caller who creates the row.
    let caller: Caller

    /// The principal of that caller.
    var actor: Principal { caller.principal }
}

extension AdminResource {
    static var ownMembers: Set<String> { ["id", "createdAt"] }
    static var passingMembers: Set<String> { [] }
    static var lastingMembers: Set<String> { [] }

    /// Keeps nothing, for rows that never change.
    mutating func keep(_ old: Self) {}

    init(_ body: inout JSONObject, as new: NewRow, over old: Self) throws(GatewayError) {
        try self.init(&body, as: new)
        keep(old)
    }

    /// Parses a UUID, the identifier of most kinds of rows.
    static func identifier(from segment: String) -> String? {
        UUID(uuidString: segment)?.uuidString.lowercased()
    }
}
