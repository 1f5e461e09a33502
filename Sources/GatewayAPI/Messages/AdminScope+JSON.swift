import GatewayCore
import StrictJSON

extension JSONObject {
    /// Takes the scopes of a role; `nil` for a role without limits.
    mutating func adminScopes() throws(GatewayError) -> [AdminScope]? {
        let name = "adminScopes"
        guard let items = try values(name, atMost: AdminScope.maxCount) else { return nil }
        do {
            try AdminScope.check(count: items.count)
        } catch .invalidArgument(_, let reason) {
            throw invalid(name, reason)
        }
        var scopes: [AdminScope] = []
        for (index, item) in items.enumerated() {
            var json = try JSONObject(item, at: self.name(of: "\(name)[\(index)]"))
            scopes.append(try AdminScope(&json))
            try json.end()
        }
        return scopes
    }
}

extension AdminScope {
    fileprivate init(_ json: inout JSONObject) throws(GatewayError) {
        let bucket = try json.required(
            "bucket", json.parsed("bucket") { (text) throws(GatewayError) in try BucketName(text) })
        let prefix = try json.required("prefix", json.string("prefix"))
        let texts = try json.strings("principals")
        // An empty list is not "all": the initializer refuses it.
        var principals: [PrincipalPattern]? = texts == nil ? nil : []
        for (index, text) in (texts ?? []).enumerated() {
            do {
                principals?.append(try PrincipalPattern(text))
            } catch .invalidArgument(_, let reason) {
                throw json.invalid("principals[\(index)]", reason)
            }
        }
        do {
            try self.init(bucket: bucket, prefix: prefix, principals: principals)
        } catch .invalidArgument(let field, let reason) {
            throw json.invalid(field, reason)
        }
    }

    fileprivate func write(to json: inout JSONWriter) {
        json.member("bucket", bucket.rawValue)
        json.member("prefix", prefix.rawValue)
        if let principals { json.member("principals", principals.map(\.rawValue)) }
    }
}

extension JSONWriter {
    /// Writes the member `adminScopes`; nothing for a role without limits.
    mutating func adminScopes(_ scopes: [AdminScope]?) {
        guard let scopes else { return }
        name("adminScopes")
        array(scopes) { json, scope in json.object { scope.write(to: &$0) } }
    }

    /// Writes the member `conferred`: roles, each with its scopes.
    mutating func conferred(_ roles: [ConferredRole]) {
        name("conferred")
        array(roles) { json, conferred in
            json.object { json in
                json.member("role", conferred.role.rawValue)
                json.adminScopes(conferred.scopes)
            }
        }
    }
}
