import Foundation
import GatewayCore
import StrictJSON

/// A kind of row that admins create, read, list, change and delete, in its JSON form.
protocol AdminResource: Sendable {
    /// The word in `NoSuch…`.
    static var kind: ResourceKind { get }
    /// Query parameters that narrow a list.
    static var filters: [ListFilter] { get }
    /// Where rows of this kind live.
    static var collectionPath: String { get }

    /// Takes the members of a row to be created.
    init(_ body: inout JSONObject, as new: NewRow) throws(GatewayError)

    /// Takes the members of a row to be written over another, whose secrets stay where the body has none.
    init(_ body: inout JSONObject, as new: NewRow, over old: Self) throws(GatewayError)

    /// Members of answers that the gateway sets; a change may repeat them.
    static var ownMembers: Set<String> { get }
    /// Members of answers that change by themselves; a change may repeat them, and they are passed over.
    static var passingMembers: Set<String> { get }
    /// Members that a row has for life; a change may repeat them.
    static var lastingMembers: Set<String> { get }

    /// Takes over what no change touches.
    mutating func keep(_ old: Self)

    /// Refuses what could not work, and writes the rest in the form that is kept.
    func validated() throws(GatewayError) -> Self

    /// The identifier in paths.
    var identifier: String { get }

    /// Writes the members of a row; secrets are left out.
    func write(to json: inout JSONWriter)

    /// Reads a path segment into an identifier; `nil` where no row can have it.
    static func identifier(from segment: String) -> String?
}

/// What a row to be created gets from the gateway.
struct NewRow: Sendable {
    /// A fresh UUIDv7.
    let id: UUID
    /// Stands in `createdAt` until the store sets its own.
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

extension JSONObject {
    /// Takes a principal.
    mutating func principal(_ name: String) throws(GatewayError) -> Principal? {
        try parsed(name) { (text) throws(GatewayError) in try Principal(text) }
    }

    /// Takes an instant.
    mutating func instant(_ name: String) throws(GatewayError) -> Date? {
        try parsed(name) { (text) throws(GatewayError) in try Timestamp.instant(from: text) }
    }

    /// Takes an identifier.
    mutating func uuid(_ name: String) throws(GatewayError) -> UUID? {
        guard let text = try string(name) else { return nil }
        guard let id = UUID(uuidString: text) else { throw invalid(name, "A UUID is expected.") }
        return id
    }

    /// Takes one of a fixed set of words.
    mutating func word<Word: RawRepresentable & CaseIterable>(
        _ name: String, _ type: Word.Type
    ) throws(GatewayError) -> Word? where Word.RawValue == String {
        guard let text = try string(name) else { return nil }
        guard let word = Word(rawValue: text) else {
            let words = Word.allCases.map { "'\($0.rawValue)'" }.joined(separator: ", ")
            throw invalid(name, "One of \(words) is expected.")
        }
        return word
    }

    /// Takes actions; none where the array is empty.
    mutating func actions(_ name: String) throws(GatewayError) -> Set<Action>? {
        guard let texts = try strings(name) else { return nil }
        var actions: Set<Action> = []
        for (index, text) in texts.enumerated() {
            guard let action = try? Action(parsing: text) else {
                throw invalid("\(name)[\(index)]", "An action is 'PutObject' or 'GetObject'.")
            }
            actions.insert(action)
        }
        return actions
    }

    /// Takes roles.
    mutating func roles(_ name: String) throws(GatewayError) -> Set<Role> {
        var roles: Set<Role> = []
        for (index, text) in (try strings(name) ?? []).enumerated() {
            guard let role = Role(rawValue: text) else {
                throw invalid("\(name)[\(index)]", "A role is 'admin' or 'auditor'.")
            }
            roles.insert(role)
        }
        return roles
    }
}
