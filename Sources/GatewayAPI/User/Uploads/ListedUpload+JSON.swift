import GatewayCore
import StrictJSON

extension ListedUpload {
    func write(to json: inout JSONWriter) {
        json.member("id", record.id)
        json.member("bucket", record.bucket)
        json.member("key", record.key)
        json.member("state", state.rawValue)
        if let finding, finding.kind != .absent {
            if !finding.mismatches.isEmpty { json.member("mismatches", finding.mismatches.map(\.rawValue)) }
            if let size = finding.size { json.member("size", size) }
            json.member("etag", finding.etag)
            json.member("contentType", finding.contentType)
        }
        json.member("source", finding?.source.rawValue)
        json.member("foundAt", finding?.foundAt)
        json.member("issuedAt", record.issuedAt)
        json.member("expiresAt", record.expiresAt)
    }

    func writeForAdmins(to json: inout JSONWriter) {
        write(to: &json)
        json.member("principal", record.principal)
        json.member("delivery", record.delivery)
    }
}
