import FoundationEssentials
import GatewayCore
import StrictJSON

extension StorageCredential: AdminResource {
    static var filters: [ListFilter] { [.text("name"), .word("kind", Kind.self), .instant("expiresBefore")] }
    static var collectionPath: String { "/admin/v1/storage-credentials" }
    static var ownMembers: Set<String> { ["id", "kind", "hasSessionToken", "previousKey", "createdAt"] }

    init(_ body: inout JSONObject, as new: NewRow) throws(GatewayError) {
        self = try CredentialEntry(&body).credential(id: new.id, createdAt: new.now)
    }

    init(_ body: inout JSONObject, as new: NewRow, over old: StorageCredential) throws(GatewayError) {
        self = try CredentialEntry(&body).credential(over: old)
    }

    func write(to json: inout JSONWriter) {
        json.member("id", id)
        json.member("name", name)
        json.member("kind", kind.rawValue)
        json.member("accessKeyID", accessKeyID)
        json.member("hasSessionToken", sessionToken != nil)
        json.member("expiresAt", expiresAt)
        if let sessionRole {
            json.object("sessionRole") { sessionRole.write(to: &$0) }
        }
        if let previousKey {
            json.object("previousKey") { json in
                json.member("accessKeyID", previousKey.accessKeyID)
                json.member("removableAt", previousKey.neededUntil)
            }
        }
        json.member("createdAt", createdAt)
    }
}

extension CredentialEntry {
    /// Reads what an admin entered.
    fileprivate init(_ body: inout JSONObject) throws(GatewayError) {
        self.init(
            name: try body.required("name", body.string("name")),
            accessKeyID: try body.string("accessKeyID"),
            secretAccessKey: try body.string("secretAccessKey").map { Secret($0) },
            serviceAccount: try ServiceAccount(&body),
            keyPair: try KeyPair(&body),
            sessionToken: try body.string("sessionToken").map { Secret($0) },
            expiresAt: try body.instant("expiresAt"),
            sessionRole: try SessionRole(&body))
    }
}

extension CredentialEntry.ServiceAccount {
    /// Reads the member `serviceAccount`, the key of a service account as Google Cloud exports it; `nil` where it is
    /// absent. Other members of that export are ignored.
    fileprivate init?(_ body: inout JSONObject) throws(GatewayError) {
        guard var account = try body.object("serviceAccount") else { return nil }
        let email = try account.required("client_email", account.string("client_email"))
        let key = try account.required("private_key", account.string("private_key"))
        self.init(email: email, privateKey: Secret(key))
    }
}

extension CredentialEntry.KeyPair {
    /// Reads the member `keyPair`; `nil` where it is absent.
    fileprivate init?(_ body: inout JSONObject) throws(GatewayError) {
        guard var pair = try body.object("keyPair") else { return nil }
        let id = try pair.required("id", pair.string("id"))
        let key = try pair.required("privateKey", pair.string("privateKey"))
        try pair.end()
        self.init(id: id, privateKey: Secret(key))
    }
}

extension SessionRole {
    /// Reads the member `sessionRole`; `nil` where it is absent.
    fileprivate init?(_ body: inout JSONObject) throws(GatewayError) {
        guard var role = try body.object("sessionRole") else { return nil }
        self.init(
            roleARN: try role.required("roleARN", role.string("roleARN")),
            service: try role.required("service", role.word("service", Service.self)),
            endpoint: try role.required("endpoint", role.string("endpoint")),
            region: try role.required("region", role.string("region")),
            maxDuration: try role.integer("maxDuration").map { Int(clamping: $0) } ?? 3600,
            externalID: try role.string("externalID"),
            kmsKeyARN: try role.string("kmsKeyARN")
        )
        try role.end()
    }

    fileprivate func write(to json: inout JSONWriter) {
        json.member("roleARN", roleARN)
        json.member("service", service.rawValue)
        json.member("endpoint", endpoint)
        json.member("region", region)
        json.member("maxDuration", maxDuration)
        json.member("externalID", externalID)
        json.member("kmsKeyARN", kmsKeyARN)
    }
}
