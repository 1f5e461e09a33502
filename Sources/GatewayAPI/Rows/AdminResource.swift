import Foundation
import GatewayCore

/// A kind of row that admins create, read, list, change and delete, in its JSON form.
protocol AdminResource: Sendable {
    /// The word in `NoSuch…`.
    static var kind: ResourceKind { get }
    /// Query parameters that narrow a list.
    static var filters: [ListFilter] { get }
    /// Where rows of this kind live.
    static var collectionPath: String { get }

    /// Reads a new row from its members.
    init(_ body: inout JSONObject, as new: NewRow) throws(GatewayError)

    /// Reads a row that replaces another. Secrets of the old row stay where the body has none.
    init(_ body: inout JSONObject, as new: NewRow, over old: Self) throws(GatewayError)

    /// Members of answers that the gateway sets; a change may repeat them.
    static var ownMembers: Set<String> { get }
    /// Members of answers that change by themselves; a change may repeat them, and they are ignored.
    static var passingMembers: Set<String> { get }
    /// Members that a row has for life; a change may repeat them.
    static var lastingMembers: Set<String> { get }

    /// Copies from the old row what no change touches.
    mutating func keep(_ old: Self)

    /// Refuses a row that could not work, and gives it in the form that is stored.
    func validated() throws(GatewayError) -> Self

    /// The identifier in paths.
    var identifier: String { get }

    /// Writes the members of a row; secrets are left out.
    func write(to json: inout JSONWriter)

    /// Reads a path segment into an identifier; `nil` where no row can have it.
    static func identifier(from segment: String) -> String?
}

/// What the gateway gives a new row.
struct NewRow: Sendable {
    /// A fresh UUIDv7.
    let id: UUID
    /// The value of `createdAt` until the store sets its own.
    let now: Date
    /// Who makes it.
    let caller: Caller

    /// The maker's name.
    var actor: Principal { caller.principal }
}

extension AdminResource {
    static var ownMembers: Set<String> { ["id", "createdAt"] }
    static var passingMembers: Set<String> { [] }
    static var lastingMembers: Set<String> { [] }

    /// Rows that never change keep nothing.
    mutating func keep(_ old: Self) {}

    init(_ body: inout JSONObject, as new: NewRow, over old: Self) throws(GatewayError) {
        try self.init(&body, as: new)
        keep(old)
    }

    /// Rows are named by UUID unless they say otherwise.
    static func identifier(from segment: String) -> String? {
        UUID(uuidString: segment)?.uuidString.lowercased()
    }
}
