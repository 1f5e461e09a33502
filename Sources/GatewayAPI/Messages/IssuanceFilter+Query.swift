import FoundationEssentials
import GatewayCore

extension IssuanceFilter {
    /// Names of the query parameters that narrow the list.
    static let parameterNames: Set<String> = [
        "from", "to", "principal", "bucket", "prefix", "action", "delivery", "grantID", "credentialID", "alive",
    ]

    /// Takes the query parameters of a request, and what its caller may see.
    init(_ request: APIRequest, for caller: Caller) throws(GatewayError) {
        self.init()
        reach = request.reach(of: caller)
        from = try request.instant("from")
        to = try request.instant("to")
        principal = try request.parsed("principal") { text throws(GatewayError) in try Principal(text) }
        bucket = try request.parsed("bucket") { text throws(GatewayError) in try BucketName(text) }
        prefix = try request.query("prefix").map { ExactText($0) }
        action = try request.parsed("action") { text throws(GatewayError) in try Action(parsing: text) }
        delivery = try request.word("delivery", Delivery.self)
        grantID = try request.identifier("grantID")
        credentialID = try request.identifier("credentialID")
        isAlive = try request.flag("alive")
    }
}
