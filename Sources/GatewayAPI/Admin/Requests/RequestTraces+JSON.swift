import GatewayCore
import Bytes
import StrictJSON

extension RequestTraces {
    /// Writes the members of the answer.
    func write(to json: inout JSONWriter) {
        json.member("requestID", requestID)
        json.member("from", from)
        json.member("to", to)
        json.objects("refusals", refusals.rows) { $1.write(to: &$0) }
        json.objects("issuances", issuances) { $1.write(to: &$0) }
        json.objects("changes", changes) { $1.write(to: &$0) }
        json.member("refusalsKeptSince", refusals.keptSince)
        json.member("droppedRefusals", refusals.droppedNearby)
    }
}

extension RefusalRecord {
    /// Writes the members of a refusal.
    fileprivate func write(to json: inout JSONWriter) {
        json.member("refusedAt", at)
        json.member("method", method)
        json.member("route", route)
        json.member("status", status)
        json.member("code", note.code)
        json.member("reason", note.reason.rawValue)
        json.member("subject", note.subject)
        json.member("principal", principal?.rawValue)
        json.member("sourceAddress", sourceAddress?.description)
        if let target = note.target {
            json.member("bucket", target.bucket.rawValue)
            json.member("action", target.action?.rawValue)
            json.member("keyPrefix", target.keyPrefix)
            json.member("keySHA256", Hex.encode(target.keySHA256))
        }
        if let grantID = note.grantID { json.member("grantID", grantID) }
    }
}
