import Bytes
import GatewayCore
import StrictJSON

extension JSONValue {
    /// Returns the members that a change may set, and the lasting members with their present values.
    ///
    /// - Parameters:
    ///   - own: Members that the gateway sets.
    ///   - lasting: Members that never change in the life of a row.
    ///   - current: The present row. Members of both kinds may be sent only with their present values.
    ///   - mayLeaveOut: Whether members of both kinds may be absent. A patched row lacks only what the patch removes.
    /// - Throws: `invalidArgument` for a member of either kind that differs.
    func settable(
        _ own: Set<String>, lasting: Set<String>, of current: JSONValue, mayLeaveOut: Bool
    ) throws(GatewayError) -> JSONValue {
        guard case .object(var members) = self, case .object(let before) = current else { return self }
        for name in own.union(lasting).sorted() {
            let old = before.first { $0.name.isSameBytes(as: name) }
            let sent = members.first { $0.name.isSameBytes(as: name) && $0.value != .null }
            guard sent == old || sent == nil && mayLeaveOut else {
                throw .invalidArgument(field: name, reason: "'\(name)' cannot be changed.")
            }
            members.removeAll { $0.name.isSameBytes(as: name) }
            if let old, lasting.contains(name) { members.append(old) }
        }
        return .object(members)
    }
}
