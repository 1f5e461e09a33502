import GatewayCore

extension IssueRequest.Fields {
    /// What `GET /v1/objects/{bucket}/{key}` asks for.
    ///
    /// - Parameter download: The name under which a browser saves the object; empty for that of the key.
    init(
        redirectTo key: String?, in bucket: String?, method: String?, versionID: String?, endpoint: String?,
        download: String?
    ) {
        self.init()
        action = Action.getObject.rawValue
        self.method = method
        self.bucket = bucket
        self.key = key
        self.versionID = versionID
        self.endpoint = endpoint
        guard let download else { return }
        var wanted = ResponseOverrides.Fields()
        if download.isEmpty { wanted.contentDisposition = Self.attachment } else { wanted.filename = download }
        response = wanted
    }

    private static let attachment = "attachment"

    /// Whether a redirect can ask for the same.
    var canBeRedirect: Bool {
        let download = response?.filename ?? (response?.contentDisposition == Self.attachment ? "" : nil)
        return self
            == .init(
                redirectTo: key, in: bucket, method: method, versionID: versionID, endpoint: endpoint,
                download: download)
    }
}
