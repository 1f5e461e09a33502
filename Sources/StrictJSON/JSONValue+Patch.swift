import Bytes

extension JSONValue {
    /// Creates an object by writing its members.
    public static func object(_ members: (inout JSONWriter) -> Void) -> JSONValue {
        var json = JSONWriter()
        json.object(members)
        guard let value = try? JSONReader.read(json.bytes) else { preconditionFailure("What is written can be read.") }
        return value
    }

    /// Returns the value after a merge patch (RFC 7396): members of objects are replaced individually, and `null`
    /// removes a member. Names are compared as bytes.
    public func merged(with patch: JSONValue) -> JSONValue {
        guard case .object(let changes) = patch else { return patch }
        var members: [Member] = if case .object(let members) = self { members } else { [] }
        for change in changes {
            let index = members.firstIndex { $0.name.isSameBytes(as: change.name) }
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

    /// Returns the value without the named members; a value that is not an object is returned unchanged.
    public func without(_ names: Set<String>) -> JSONValue {
        guard case .object(let members) = self else { return self }
        return .object(members.filter { member in !names.contains { $0.isSameBytes(as: member.name) } })
    }
}
