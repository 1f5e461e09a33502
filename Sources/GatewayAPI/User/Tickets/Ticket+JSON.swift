import FoundationEssentials
import GatewayCore
import StrictJSON

extension Ticket: ListedResource {
    static var filters: [ListFilter] { [.principal("principal"), .text("bucket"), .instant("activeAt")] }

    func write(to json: inout JSONWriter) {
        json.member("id", id)
        json.member("name", name)
        json.member("principal", principal.rawValue)
        json.member("bucket", bucket.rawValue)
        json.member("prefix", prefix.rawValue)
        json.member("actions", actions.map(\.rawValue).sorted())
        json.member("maxUses", maxUses)
        json.member("encryptsResponses", responseKey != nil)
        json.member("expiresAt", expiresAt)
        json.member("createdAt", createdAt)
    }
}

extension TicketRequest {
    /// Reads the body of a request for a ticket.
    init(_ body: inout JSONObject) throws(GatewayError) {
        let prefix = try body.required(
            "prefix", body.parsed("prefix") { (text) throws(GatewayError) in try KeyPrefix(literal: text) })
        self.init(
            bucket: try body.required(
                "bucket", body.parsed("bucket") { (text) throws(GatewayError) in try BucketName(text) }),
            prefix: ExactText(prefix.text),
            actions: try body.actions("actions"),
            expiresIn: try body.integer("expiresIn"),
            maxUses: try body.integer("maxUses"),
            encryptsResponses: try body.bool("encryptsResponses") ?? false)
    }
}
