import GatewayCore
import StrictJSON

extension PrincipalAccess.Item {
    func write(to json: inout JSONWriter) {
        json.member("principal", grant.principal.rawValue)
        json.member("origin", origin.rawValue)
        json.member("standing", standing.rawValue)
        json.member("prefix", prefix?.rawValue)
        json.object("grant") { grant.write(to: &$0) }
    }
}

extension PrincipalAccess.Allowance {
    func write(to json: inout JSONWriter) {
        quota.write(to: &json)
        json.member("holder", holder.rawValue)
        remainder?.write(to: &json)
    }
}

extension KeyAccess {
    func write(to json: inout JSONWriter) {
        json.member("principal", principal.rawValue)
        if let memberCount { json.member("memberCount", memberCount) }
        json.objects("verdicts", verdicts) { $1.write(to: &$0) }
        json.objects("grants", grants) { $1.write(to: &$0) }
    }
}

extension AccessVerdict {
    fileprivate func write(to json: inout JSONWriter) {
        json.member("action", action.rawValue)
        json.member("outcome", outcome.rawValue)
        json.member("reason", reason.rawValue)
        json.member("dependsOn", conditions.map(\.rawValue).sorted())
        if let decidedBy {
            json.object("decidedBy") { decidedBy.write(to: &$0) }
        }
    }
}

extension PrefixAccess {
    func write(to json: inout JSONWriter) {
        json.member("principal", grant.principal.rawValue)
        if let memberCount { json.member("memberCount", memberCount) }
        json.member("relation", relation.rawValue)
        json.member("standing", standing.rawValue)
        json.object("grant") { grant.write(to: &$0) }
    }
}
