import FoundationEssentials
import GatewayCore
import StrictJSON

extension Issuer: AdminResource {
    static var filters: [ListFilter] { [.text("issuer")] }
    static var collectionPath: String { "/admin/v1/issuers" }
    // Tickets name the issuer that vouches for their user. If a row took the name of one that was deleted, its tickets
    // would be accepted again.
    static var lastingMembers: Set<String> { ["issuer"] }

    init(_ body: inout JSONObject, as new: NewRow) throws(GatewayError) {
        try self.init(&body, new, keys: Self.keys(&body, over: nil))
    }

    init(_ body: inout JSONObject, as new: NewRow, over old: Issuer) throws(GatewayError) {
        try self.init(&body, new, keys: Self.keys(&body, over: old.keys))
        keep(old)
    }

    private init(_ body: inout JSONObject, _ new: NewRow, keys: Keys) throws(GatewayError) {
        self.init(
            id: new.id,
            issuer: try body.required("issuer", body.string("issuer")),
            audiences: try body.required("audiences", body.strings("audiences")),
            algorithms: try body.required("algorithms", body.strings("algorithms")),
            keys: keys,
            principalPrefix: try body.required("principalPrefix", body.string("principalPrefix")),
            groupPrefix: try body.required("groupPrefix", body.string("groupPrefix")),
            subjectClaim: try body.string("subjectClaim") ?? "sub",
            groupsClaim: try body.string("groupsClaim"),
            usableClaims: try body.strings("usableClaims") ?? [],
            rolesClaim: try body.string("rolesClaim"),
            roles: try Self.roleRules(&body),
            console: try body.object("console").map { (console) throws(GatewayError) in try ConsoleSignIn(console) },
            createdAt: new.now
        )
    }

    private static func roleRules(_ body: inout JSONObject) throws(GatewayError) -> [RoleRule] {
        var rules: [RoleRule] = []
        for (index, item) in (try body.values("roles", atMost: maxRoleRules) ?? []).enumerated() {
            var json = try JSONObject(item, at: "roles[\(index)]")
            let role = try json.required("role", json.word("role", Role.self))
            let values = try json.required("values", json.strings("values"))
            rules.append(RoleRule(role: role, values: values, adminScopes: try json.adminScopes()))
            try json.end()
        }
        return rules
    }

    /// Reads the keys of an issuer.
    ///
    /// - Parameter old: The keys of the row that is changed. Its secret is kept where the body has only `hasSecret`.
    private static func keys(_ body: inout JSONObject, over old: Keys?) throws(GatewayError) -> Keys {
        var json = try body.required("keys", body.object("keys"))
        var entry = IssuerKeysEntry(
            url: try json.string("url"), inline: try inlineSet(&json), secret: nil, keepsSecret: false)
        entry.secret = try json.string("secret").map { Secret($0) }
        if case .secret? = old { entry.keepsSecret = try json.bool("hasSecret") ?? false }
        try json.end()
        return try entry.keys(over: old)
    }

    private static func inlineSet(_ json: inout JSONObject) throws(GatewayError) -> String? {
        guard let set = json.value("inline") else { return nil }
        guard case .object = set else {
            throw json.invalid("inline", "The value must be a JWK set, which is an object.")
        }
        var text = JSONWriter()
        text.value(set)
        return String(decoding: text.bytes, as: UTF8.self)
    }

    mutating func keep(_ old: Issuer) {
        id = old.id
        createdAt = old.createdAt
    }

    func write(to json: inout JSONWriter) {
        json.member("id", id)
        json.member("issuer", issuer)
        json.member("audiences", audiences)
        json.member("algorithms", algorithms)
        json.object("keys") { Self.write(keys, to: &$0) }
        json.member("principalPrefix", principalPrefix)
        json.member("groupPrefix", groupPrefix)
        json.member("subjectClaim", subjectClaim)
        json.member("groupsClaim", groupsClaim)
        json.member("usableClaims", usableClaims)
        json.member("rolesClaim", rolesClaim)
        json.objects("roles", roles) { json, rule in
            json.member("role", rule.role.rawValue)
            json.member("values", rule.values.map(\.rawValue))
            json.adminScopes(rule.adminScopes)
        }
        if let console {
            json.object("console") { console.write(to: &$0) }
        }
        json.member("createdAt", createdAt)
    }

    private static func write(_ keys: Keys, to json: inout JSONWriter) {
        switch keys {
        case .url(let url): json.member("url", url)
        case .inline(let text):
            if let set = try? JSONReader.read(Array(text.utf8)) {
                json.name("inline")
                json.value(set)
            }
        case .secret: json.member("hasSecret", true)
        }
    }
}

extension ConsoleSignIn {
    fileprivate init(_ json: JSONObject) throws(GatewayError) {
        var json = json
        self.init(
            clientID: try json.required("clientID", json.string("clientID")),
            scopes: try json.strings("scopes") ?? ["openid"],
            authorizationEndpoint: try json.string("authorizationEndpoint"),
            tokenEndpoint: try json.string("tokenEndpoint"),
            send: try json.required("send", json.word("send", SentToken.self)))
        try json.end()
    }

    fileprivate func write(to json: inout JSONWriter) {
        json.member("clientID", clientID)
        json.member("scopes", scopes)
        json.member("authorizationEndpoint", authorizationEndpoint)
        json.member("tokenEndpoint", tokenEndpoint)
        json.member("send", send.rawValue)
    }
}
