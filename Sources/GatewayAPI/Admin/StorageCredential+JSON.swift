import Foundation
import GatewayCore

extension StorageCredential: AdminResource {
    static var kind: ResourceKind { .storageCredential }
    static var filters: Set<String> { ["name"] }
    static var collectionPath: String { "/admin/v1/storage-credentials" }

    init(_ body: inout JSONObject, as new: NewRow) throws(GatewayError) {
        let (kind, accessKeyID, secret) = try Self.key(&body)
        self.init(
            id: new.id,
            name: try body.required("name", body.string("name")),
            secretKind: kind,
            accessKeyID: accessKeyID,
            secretAccessKey: secret,
            sessionToken: try body.string("sessionToken").map { Secret($0) },
            expiresAt: try body.instant("expiresAt"),
            sessionRole: try SessionRole(&body),
            createdAt: new.now
        )
    }

    /// An access key, or the key of a service account as Google Cloud hands it out; what else that says is of no use here.
    private static func key(
        _ body: inout JSONObject
    ) throws(GatewayError) -> (Kind, accessKeyID: String, secret: Secret<String>) {
        guard var account = try body.object("serviceAccount") else {
            let accessKeyID = try body.required("accessKeyID", body.string("accessKeyID"))
            return (
                .accessKey, accessKeyID, Secret(try body.required("secretAccessKey", body.string("secretAccessKey")))
            )
        }
        for name in ["accessKeyID", "secretAccessKey"] where try body.string(name) != nil {
            throw body.invalid(name, "An access key and a service account exclude each other.")
        }
        let address = try account.required("client_email", account.string("client_email"))
        return (
            .serviceAccount, address, Secret(try account.required("private_key", account.string("private_key")))
        )
    }

    var identifier: String { id.uuidString.lowercased() }

    func write(to json: inout JSONWriter) {
        json.member("id", id)
        json.member("name", name)
        json.member("kind", secretKind.rawValue)
        json.member("accessKeyID", accessKeyID)
        json.member("hasSessionToken", sessionToken != nil)
        json.member("expiresAt", expiresAt)
        if let sessionRole {
            json.name("sessionRole")
            json.object { sessionRole.write(to: &$0) }
        }
        json.member("createdAt", createdAt)
    }
}

extension SessionRole {
    /// Takes the member `sessionRole`, if it is there.
    fileprivate init?(_ body: inout JSONObject) throws(GatewayError) {
        guard var role = try body.object("sessionRole") else { return nil }
        self.init(
            roleARN: try role.required("roleARN", role.string("roleARN")),
            service: try role.required("service", role.word("service", Service.self)),
            endpoint: try role.required("endpoint", role.string("endpoint")),
            region: try role.required("region", role.string("region")),
            maxDuration: try role.integer("maxDuration").map { Int(clamping: $0) } ?? 3600,
            externalID: try role.string("externalID")
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
    }
}
