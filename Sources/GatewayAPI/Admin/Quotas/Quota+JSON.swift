import FoundationEssentials
import GatewayCore
import StrictJSON

extension Quota: AdminResource {
    static var filters: [ListFilter] {
        [
            .principal("principal"), .text("bucket"), .action("action"), .word("metric", Metric.self),
            .word("period", Period.self), .share("nearLimit"),
        ]
    }
    static var collectionPath: String { "/admin/v1/quotas" }
    static var hasTwins: Bool { true }
    static var passingMembers: Set<String> { ["use"] }
    static var lastingMembers: Set<String> { ["principal", "bucket", "action", "metric", "period", "sharing"] }

    init(_ body: inout JSONObject, as new: NewRow) throws(GatewayError) {
        self.init(
            id: new.id,
            principal: try body.required("principal", body.principal("principal")),
            bucket: try body.parsed("bucket") { (text) throws(GatewayError) in try BucketName(text) },
            action: try body.parsed("action") { (text) throws(GatewayError) in try Action(parsing: text) },
            metric: try body.required("metric", body.word("metric", Metric.self)),
            period: try body.required("period", body.word("period", Period.self)),
            sharing: try body.word("sharing", Sharing.self) ?? .each,
            limit: try body.required("limit", body.integer("limit")),
            createdAt: new.now
        )
    }

    mutating func keep(_ old: Quota) {
        id = old.id
        createdAt = old.createdAt
    }

    func write(to json: inout JSONWriter) {
        json.member("id", id)
        json.member("principal", principal.rawValue)
        writeRule(to: &json)
        json.member("createdAt", createdAt)
    }
}
