import GatewayCore
import Signing
import StrictJSON

extension IssuedURL {
    /// Writes the members of the answer.
    func write(to json: inout JSONWriter) {
        json.member("id", id)
        json.member("method", verbatim: method.rawValue)
        json.member("bucket", verbatim: bucket.rawValue)
        if listing == nil {
            json.member("key", key.rawValue)
        } else {
            json.member("prefix", key.rawValue)
        }
        json.member("url", verbatim: url.reveal())
        json.object("headers") { json in
            for header in headers { json.member(named: header.name, header.value) }
        }
        json.member("expiresAt", expiresAt)
        json.member("expiresIn", expiresIn)
        json.member("enforcedBy", verbatim: enforcedBy.rawValue)
    }
}
