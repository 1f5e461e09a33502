import FoundationEssentials
import GatewayCore
import LibCrypto
import StrictJSON

extension APIKey: AdminResource {
    static var filters: [ListFilter] {
        [
            .principal("principal"), .text("prefix"), .word("role", Role.self), .instant("activeAt"),
            .instant("expiresBefore"),
        ]
    }
    static var collectionPath: String { "/admin/v1/api-keys" }
    static var ownMembers: Set<String> { ["id", "prefix", "previousKey", "createdAt"] }
    static var lastingMembers: Set<String> { ["principal"] }

    init(_ body: inout JSONObject, as new: NewRow) throws(GatewayError) {
        var groups: [Principal] = []
        for (index, text) in (try body.strings("groups") ?? []).enumerated() {
            guard let group = try? Principal(text) else {
                throw body.invalid("groups[\(index)]", "The value must be a group: 'group:' followed by a name.")
            }
            groups.append(group)
        }
        self.init(
            id: new.id, prefix: "", hash: Digest(),
            name: try body.required("name", body.string("name")),
            principal: try body.required("principal", body.principal("principal")),
            groups: groups,
            roles: try body.words("roles", Role.self),
            adminScopes: try body.adminScopes(),
            expiresAt: try body.instant("expiresAt"),
            createdAt: new.now
        )
    }

    mutating func keep(_ old: APIKey) {
        id = old.id
        prefix = old.prefix
        hash = old.hash
        previousKey = old.previousKey
        createdAt = old.createdAt
    }

    func write(to json: inout JSONWriter) {
        json.member("id", id)
        json.member("prefix", prefix)
        json.member("name", name)
        json.member("principal", principal.rawValue)
        json.member("groups", groups.map(\.rawValue))
        json.member("roles", roles.map(\.rawValue).sorted())
        json.adminScopes(adminScopes)
        json.member("expiresAt", expiresAt)
        json.member("createdAt", createdAt)
        if let previousKey {
            json.object("previousKey") { json in
                json.member("prefix", previousKey.prefix)
                json.member("expiresAt", previousKey.expiresAt)
            }
        }
    }
}
