import GatewayCore
import StrictJSON

extension Grant {
    /// Writes the rule that holds below the grant's prefix: actions, effect, conditions and validity range.
    func writeRule(to json: inout JSONWriter) {
        json.member("actions", actions.map(\.rawValue).sorted())
        json.member("effect", effect.rawValue)
        json.object("conditions") { conditions.write(to: &$0) }
        json.member("notBefore", notBefore)
        json.member("notAfter", notAfter)
    }
}

extension GrantConditions {
    /// Takes the member `conditions` of a grant.
    init(_ body: inout JSONObject) throws(GatewayError) {
        self.init()
        guard var json = try body.object("conditions") else { return }
        contentTypes = try json.strings("contentTypes")
        maxBytes = try json.integer("maxBytes")
        requireContentMD5 = try json.bool("requireContentMD5")
        maxTTL = try json.integer("maxTTL").map { Int($0) }
        sourceCIDRs = try json.strings("sourceCIDRs")
        forceDownload = try json.bool("forceDownload")
        allowResponseContentType = try json.bool("allowResponseContentType")
        allowVersions = try json.bool("allowVersions")
        try json.end()
    }

    fileprivate func write(to json: inout JSONWriter) {
        if let contentTypes { json.member("contentTypes", contentTypes) }
        if let maxBytes { json.member("maxBytes", maxBytes) }
        if let requireContentMD5 { json.member("requireContentMD5", requireContentMD5) }
        if let maxTTL { json.member("maxTTL", maxTTL) }
        if let sourceCIDRs { json.member("sourceCIDRs", sourceCIDRs) }
        if let forceDownload { json.member("forceDownload", forceDownload) }
        if let allowResponseContentType { json.member("allowResponseContentType", allowResponseContentType) }
        if let allowVersions { json.member("allowVersions", allowVersions) }
    }
}
