import FoundationEssentials
import GatewayCore
import Signing
import StrictJSON

extension Explanation {
    /// Writes the members of an explanation.
    func write(to json: inout JSONWriter) {
        json.member("permitted", isPermitted)
        json.member("reason", reason.rawValue)
        if let told {
            json.name("told")
            told.write(to: &json, requestID: nil)
        }
        json.objects("principals", members) { json, member in
            json.member("principal", member.principal.rawValue)
            json.member("origin", member.origin.rawValue)
        }
        if let decidedBy {
            json.object("decidedBy") { decidedBy.write(to: &$0) }
        }
        json.objects("matches", matches) { $1.write(to: &$0) }
        json.objects("nearMisses", nearMisses) { json, miss in
            json.object("grant") { miss.grant.write(to: &$0) }
            json.member("prefix", miss.prefix.rawValue)
            json.member("differs", miss.flaw.word)
        }
        json.objects("quotas", quotas) { $1.write(to: &$0) }
        permit?.write(to: &json)
        if let moment {
            json.object("policy") { json in
                json.member("sequence", moment.sequence)
                json.member("changedAt", moment.at)
                json.member("isCurrent", isCurrent)
            }
        }
        json.member("assumptions", assumptions.map(\.rawValue))
        if let issuance {
            json.object("issuance") { issuance.write(to: &$0) }
        }
    }

    /// What the caller is told; without the quota that refuses, if it must not be shown.
    private var told: Problem? {
        if let error { return Problem(error) }
        return reason == .quotaExceeded ? Problem(kind: .quotaExceeded) : nil
    }
}

extension Explanation.Match {
    fileprivate func write(to json: inout JSONWriter) {
        json.object("grant") { grant.write(to: &$0) }
        json.member("prefix", prefix.rawValue)
        switch outcome {
        case nil: break
        case .permits: json.member("outcome", "permits")
        case .denies: json.member("outcome", "denies")
        case .fails(let error):
            json.member("outcome", "fails")
            json.name("failure")
            Problem(error).write(to: &json, requestID: nil)
        }
    }
}

extension Explanation.Allowance {
    fileprivate func write(to json: inout JSONWriter) {
        json.member("id", quota.id)
        json.member("principal", quota.principal.rawValue)
        json.member("holder", holder.rawValue)
        quota.writeRule(to: &json)
        if let takes { json.member("takes", takes) }
        remainder?.write(to: &json)
    }
}

extension NearMiss.Flaw {
    /// The word for this value in JSON.
    fileprivate var word: String {
        switch self {
        case .action: "action"
        case .principal: "principal"
        case .template: "template"
        case .prefix: "prefix"
        }
    }
}

extension Permit {
    /// Writes what would be signed; nothing is signed.
    fileprivate func write(to json: inout JSONWriter) {
        json.object("url") { json in
            json.member("expiresIn", expiresIn)
            json.member("expiryOrigin", expiryOrigin.rawValue)
            json.member("enforcedBy", enforcedBy.rawValue)
            json.object("headers") { json in
                for header in headers { json.member(named: header.name, header.value) }
            }
            json.member("credentialID", credential.id)
            if let reservedBytes { json.member("reservedBytes", reservedBytes) }
        }
    }
}
