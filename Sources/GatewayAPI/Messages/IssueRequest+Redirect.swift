import GatewayCore

extension IssueRequest.Fields {
    /// What `GET /v1/objects/{bucket}/{key}` asks for.
    init(redirectTo key: String?, in bucket: String?, method: String?, versionID: String?, endpoint: String?) {
        self.init()
        action = Action.getObject.rawValue
        self.method = method
        self.bucket = bucket
        self.key = key
        self.versionID = versionID
        self.endpoint = endpoint
    }

    /// Whether a redirect can ask for the same.
    var canBeRedirect: Bool {
        self
            == .init(redirectTo: key, in: bucket, method: method, versionID: versionID, endpoint: endpoint)
    }
}
