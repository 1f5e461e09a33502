import GatewayCore
import StrictJSON

extension JSONValue {
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
