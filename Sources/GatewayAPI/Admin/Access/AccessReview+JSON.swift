import GatewayCore
import StrictJSON

extension PrincipalAccess.Item {
    func write(to json: inout JSONWriter) {
        json.member("principal", grant.principal.rawValue)
        json.member("origin", origin.rawValue)
        json.member("standing", standing.rawValue)
        json.member("prefix", prefix?.rawValue)
        json.name("grant")
        json.object { grant.write(to: &$0) }
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
        json.name("verdicts")
        json.array(verdicts) { json, verdict in
            json.object { verdict.write(to: &$0) }
        }
        json.name("grants")
        json.array(grants) { json, grant in
            json.object { grant.write(to: &$0) }
        }
    }
}

extension AccessVerdict {
    fileprivate func write(to json: inout JSONWriter) {
        json.member("action", action.rawValue)
        json.member("outcome", outcome.rawValue)
        json.member("reason", reason.rawValue)
        json.member("dependsOn", conditions.map(\.rawValue).sorted())
        if let decidedBy {
            json.name("decidedBy")
            json.object { decidedBy.write(to: &$0) }
        }
    }
}

extension PrefixAccess {
    func write(to json: inout JSONWriter) {
        json.member("principal", grant.principal.rawValue)
        if let memberCount { json.member("memberCount", memberCount) }
        json.member("relation", relation.rawValue)
        json.member("standing", standing.rawValue)
        json.name("grant")
        json.object { grant.write(to: &$0) }
    }
}
