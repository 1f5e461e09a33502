import GatewayCore
import StrictJSON

extension AuditRecord {
    /// Writes the members of a line of the audit.
    func write(to json: inout JSONWriter) {
        json.member("id", id)
        json.member("changedAt", at)
        json.member("actor", actor)
        json.member("credential", credential)
        json.member("requestID", requestID)
        json.member("operation", operation)
        json.member("kind", kind)
        json.member("resourceID", GroupMember.shown(resourceID))
        for (name, text) in [("before", before), ("after", after)] {
            guard let text, let value = try? JSONReader.read(Array(text.utf8)) else { continue }
            json.name(name)
            json.value(value)
        }
    }
}
