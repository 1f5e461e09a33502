import FoundationEssentials
import GatewayCore
import StrictJSON

extension Grant: AdminResource {
    static var filters: [ListFilter] {
        [
            .principal("principal"), .text("bucket"), .text("prefix"), .action("action"), .word("effect", Effect.self),
            .instant("activeAt"), .text("covers"),
        ]
    }
    static var hasTwins: Bool { true }

    static func check(_ filters: [String: String]) throws(GatewayError) {
        guard let key = filters["covers"] else { return }
        guard filters["bucket"] != nil else {
            throw .invalidArgument(field: "bucket", reason: "'bucket' is required with 'covers'.")
        }
        do throws(GatewayError) {
            _ = try ObjectKey(key)
        } catch {
            guard case .invalidArgument(_, let reason) = error else { throw error }
            throw .invalidArgument(field: "covers", reason: reason)
        }
    }
    static var collectionPath: String { "/admin/v1/grants" }
    static var ownMembers: Set<String> { ["id", "createdBy", "createdAt"] }

    init(_ body: inout JSONObject, as new: NewRow) throws(GatewayError) {
        self.init(
            id: new.id,
            principal: try body.required("principal", body.principal("principal")),
            bucket: try body.required(
                "bucket", body.parsed("bucket") { (text) throws(GatewayError) in try BucketName(text) }),
            prefix: try Self.prefix(&body),
            actions: try body.required("actions", body.actions("actions")),
            effect: try body.word("effect", Effect.self) ?? .allow,
            conditions: try GrantConditions(&body),
            notBefore: try body.instant("notBefore"),
            notAfter: try body.instant("notAfter"),
            note: try body.string("note") ?? "",
            createdBy: new.actor.rawValue,
            createdAt: new.now
        )
    }

    private static func prefix(_ body: inout JSONObject) throws(GatewayError) -> KeyPrefix {
        let literal = try body.parsed("prefix") { (text) throws(GatewayError) in try KeyPrefix(literal: text) }
        let template = try body.parsed("template") { (text) throws(GatewayError) in try KeyPrefix(template: text) }
        switch (literal, template) {
        case (let prefix?, nil), (nil, let prefix?): return prefix
        case (nil, nil):
            throw body.invalid(
                "prefix",
                "Send either 'prefix' or 'template'; an empty prefix is the whole bucket.")
        case (_?, _?): throw body.invalid("template", "Send either 'prefix' or 'template', not both.")
        }
    }

    mutating func keep(_ old: Grant) {
        id = old.id
        createdBy = old.createdBy
        createdAt = old.createdAt
    }

    func write(to json: inout JSONWriter) {
        json.member("id", id)
        writeContent(to: &json)
        json.member("createdBy", createdBy)
        json.member("createdAt", createdAt)
    }

    /// Writes the members of the grant that an admin sets.
    func writeContent(to json: inout JSONWriter) {
        json.member("principal", principal.rawValue)
        json.member("bucket", bucket.rawValue)
        json.member(prefix.isTemplate ? "template" : "prefix", prefix.text)
        writeRule(to: &json)
        json.member("note", note)
    }
}
