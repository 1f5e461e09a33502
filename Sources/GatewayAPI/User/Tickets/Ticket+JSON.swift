import Foundation
import GatewayCore
import StrictJSON

extension Ticket: AdminResource {
    static var kind: ResourceKind { .ticket }
    static var filters: [ListFilter] { [.text("principal"), .text("bucket"), .instant("activeAt")] }
    static var collectionPath: String { "/admin/v1/tickets" }

    init(_ body: inout JSONObject, as new: NewRow) throws(GatewayError) {
        try self.init(&body, as: new, maxAge: Self.maxLife)
    }

    /// Reads the members of a ticket that lives at most `maxAge` seconds.
    init(_ body: inout JSONObject, as new: NewRow, maxAge: Int) throws(GatewayError) {
        let prefix = try body.required(
            "prefix", body.parsed("prefix") { (text) throws(GatewayError) in try KeyPrefix(literal: text) })
        let life = try body.integer("expiresIn") ?? Int64(min(Self.defaultLife, maxAge))
        guard 1...Int64(maxAge) ~= life else {
            throw body.invalid("expiresIn", "The life of a ticket must be 1 to \(maxAge) seconds.")
        }
        self.init(
            id: new.id, name: "", hash: [], principal: new.actor, groups: new.caller.groups, claims: new.caller.claims,
            issuedOn: new.caller.scope,
            bucket: try body.required(
                "bucket", body.parsed("bucket") { (text) throws(GatewayError) in try BucketName(text) }),
            prefix: ExactText(prefix.text),
            actions: try body.actions("actions") ?? Set(Action.allCases),
            maxUses: try body.integer("maxUses") ?? Self.defaultUses,
            expiresAt: new.now.addingTimeInterval(TimeInterval(life)),
            createdAt: new.now
        )
        guard 1...Self.maxUses ~= maxUses else {
            throw body.invalid("maxUses", "The number of uses must be 1 to 100,000.")
        }
    }

    func validated() throws(GatewayError) -> Ticket {
        guard !actions.isEmpty else {
            throw .invalidArgument(field: "actions", reason: "A ticket requires at least one action.")
        }
        return self
    }

    var identifier: String { id.uuidString.lowercased() }

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
