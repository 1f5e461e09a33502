import GatewayCore

extension JSONValue {
    /// Builds an object by writing its members.
    static func object(_ members: (inout JSONWriter) -> Void) -> JSONValue {
        var json = JSONWriter()
        json.object(members)
        guard let value = try? JSONReader.read(json.bytes) else { preconditionFailure("What is written can be read.") }
        return value
    }

    /// The value after a merge patch (RFC 7396): members of objects are replaced one by one, `null` removes.
    func merged(with patch: JSONValue) -> JSONValue {
        guard case .object(let changes) = patch else { return patch }
        var members: [Member] = if case .object(let members) = self { members } else { [] }
        for change in changes {
            let index = members.firstIndex { $0.name == change.name }
            guard change.value != .null else {
                if let index { members.remove(at: index) }
                continue
            }
            let old = index.map { members[$0].value } ?? .null
            let member = Member(name: change.name, value: old.merged(with: change.value))
            if let index { members[index] = member } else { members.append(member) }
        }
        return .object(members)
    }

    /// The value without some members, where it is an object.
    func without(_ names: Set<String>) -> JSONValue {
        guard case .object(let members) = self else { return self }
        return .object(members.filter { !names.contains($0.name) })
    }

    /// The members of a row that a change may set, with those that last as they are.
    ///
    /// - Parameters:
    ///   - own: Members that the gateway sets.
    ///   - lasting: Members that a row has for life.
    ///   - current: The row as it is; members of both kinds that were sent must be as they are there.
    func settable(
        _ own: Set<String>, lasting: Set<String>, of current: JSONValue
    ) throws(GatewayError) -> JSONValue {
        guard case .object(var members) = self, case .object(let before) = current else { return self }
        for name in own.union(lasting).sorted() {
            let old = before.first { $0.name == name }
            let sent = members.first { $0.name == name && $0.value != .null }
            guard sent == nil || sent == old else {
                throw .invalidArgument(field: name, reason: "The member cannot be changed.")
            }
            members.removeAll { $0.name == name }
            if let old, lasting.contains(name) { members.append(old) }
        }
        return .object(members)
    }
}
