import GatewayCore
import Bytes
import StrictJSON

extension RecordedIssuance {
    /// Writes the members of a row.
    func write(to json: inout JSONWriter) {
        json.member("id", id)
        json.member("issuedAt", issuedAt)
        json.member("expiresAt", expiresAt)
        json.member("delivery", delivery)
        json.member("principal", principal)
        json.member("matchedPrincipal", matchedPrincipal)
        json.member("grantID", grantID)
        json.member("credentialID", credentialID)
        json.member("actions", actions)
        json.member("method", method)
        json.member("bucket", bucket)
        json.member("key", key)
        json.member("contentType", contentType)
        json.member("contentMD5", contentMD5.map { Base64.encode($0) })
        if let contentLength { json.member("contentLength", contentLength) }
        json.member("requestID", requestID)
        json.member("policySequence", policySequence)
        json.objects("charges", charges) { json, charge in
            json.member("quotaID", charge.quotaID)
            json.member("amount", charge.amount)
        }
    }
}
