import FoundationEssentials
import GatewayCore
import StrictJSON

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
        guard let id = UUID(uuidString: text) else { throw invalid(name, "The value must be a UUID.") }
        return id
    }

    /// Takes one of a fixed set of words.
    mutating func word<Word: RawRepresentable & CaseIterable>(
        _ name: String, _ type: Word.Type
    ) throws(GatewayError) -> Word? where Word.RawValue == String {
        guard let text = try string(name) else { return nil }
        guard let word = Word(rawValue: text) else {
            let words = Word.allCases.map { "'\($0.rawValue)'" }.joined(separator: ", ")
            throw invalid(name, "The value must be one of \(words).")
        }
        return word
    }

    /// Takes actions; an empty array gives an empty set.
    mutating func actions(_ name: String) throws(GatewayError) -> Set<Action>? {
        guard let texts = try strings(name) else { return nil }
        var actions: Set<Action> = []
        for (index, text) in texts.enumerated() {
            guard let action = try? Action(parsing: text) else {
                throw invalid("\(name)[\(index)]", "The action must be \(Action.words).")
            }
            actions.insert(action)
        }
        return actions
    }

    /// Takes names of protocols of existing clients.
    mutating func protocols(_ name: String) throws(GatewayError) -> Set<ClientProtocol> {
        var protocols: Set<ClientProtocol> = []
        for (index, text) in (try strings(name) ?? []).enumerated() {
            guard let known = ClientProtocol(rawValue: text) else {
                let names = ClientProtocol.allCases.map { "'\($0.rawValue)'" }.joined(separator: ", ")
                throw invalid("\(name)[\(index)]", "A protocol must be one of \(names).")
            }
            protocols.insert(known)
        }
        return protocols
    }

    /// Takes roles.
    mutating func roles(_ name: String) throws(GatewayError) -> Set<Role> {
        var roles: Set<Role> = []
        for (index, text) in (try strings(name) ?? []).enumerated() {
            guard let role = Role(rawValue: text) else {
                throw invalid("\(name)[\(index)]", "A role must be 'admin' or 'auditor'.")
            }
            roles.insert(role)
        }
        return roles
    }
}
