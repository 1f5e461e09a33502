import GatewayCore
import StrictJSON

extension JSONObject {
    /// Takes the scopes of a role; `nil` for a role without limits.
    mutating func adminScopes() throws(GatewayError) -> [AdminScope]? {
        let name = "adminScopes"
        guard let items = try values(name, atMost: AdminScope.maxCount) else { return nil }
        try naming(name) { () throws(GatewayError) in try AdminScope.check(count: items.count) }
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
        // An empty list is not "all": the initializer refuses it.
        let principals = try json.parsedItems("principals") { (text) throws(GatewayError) in
            try PrincipalPattern(text)
        }
        self = try json.within { () throws(GatewayError) in
            try AdminScope(bucket: bucket, prefix: prefix, principals: principals)
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
        objects("adminScopes", scopes) { $1.write(to: &$0) }
    }

    /// Writes the member `conferred`: roles, each with its scopes.
    mutating func conferred(_ roles: [ConferredRole]) {
        objects("conferred", roles) { json, conferred in
            json.member("role", conferred.role.rawValue)
            json.adminScopes(conferred.scopes)
        }
    }
}
