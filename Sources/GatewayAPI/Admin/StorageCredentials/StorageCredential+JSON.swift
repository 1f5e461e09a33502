import Foundation
import GatewayCore
import StrictJSON

extension StorageCredential: AdminResource {
    static var kind: ResourceKind { .storageCredential }
    static var filters: [ListFilter] { [.text("name"), .word("kind", Kind.self)] }
    static var collectionPath: String { "/admin/v1/storage-credentials" }
    static var ownMembers: Set<String> { ["id", "kind", "hasSessionToken", "previousKey", "createdAt"] }

    init(_ body: inout JSONObject, as new: NewRow) throws(GatewayError) {
        let key = try Self.key(&body)
        try self.init(&body, new, key, token: body.string("sessionToken").map { Secret($0) })
    }

    /// Reads a credential that replaces another. An access key and its secret are entered together. The row keeps its
    /// own where the body has none.
    init(_ body: inout JSONObject, as new: NewRow, over old: StorageCredential) throws(GatewayError) {
        let token = try body.string("sessionToken").map { Secret($0) }
        if let key = try Self.newKey(&body, over: old) {
            try self.init(&body, new, key, token: token)
        } else {
            guard token == nil else {
                throw body.invalid("secretAccessKey", "A new session token requires its 'secretAccessKey'.")
            }
            let key = Key(kind: old.secretKind, accessKeyID: old.accessKeyID, secret: old.secretAccessKey)
            try self.init(&body, new, key, token: old.sessionToken)
            guard sessionRole == nil || sessionRole?.endpoint == old.sessionRole?.endpoint else {
                throw body.invalid("secretAccessKey", "A new endpoint of the role requires 'secretAccessKey'.")
            }
        }
        keep(old)
    }

    private init(
        _ body: inout JSONObject, _ new: NewRow, _ key: Key, token: Secret<String>?
    ) throws(GatewayError) {
        self.init(
            id: new.id,
            name: try body.required("name", body.string("name")),
            secretKind: key.kind,
            accessKeyID: key.accessKeyID,
            secretAccessKey: key.secret,
            sessionToken: token,
            expiresAt: try body.instant("expiresAt"),
            sessionRole: try SessionRole(&body),
            createdAt: new.now
        )
    }

    /// A signing key: its public identifier and its secret.
    private struct Key {
        var kind: Kind
        var accessKeyID: String
        var secret: Secret<String>
    }

    /// Reads an access key, or the key of a service account as Google Cloud exports it. Other members of that export
    /// are ignored.
    private static func key(_ body: inout JSONObject) throws(GatewayError) -> Key {
        guard var account = try body.object("serviceAccount") else {
            let accessKeyID = try body.required("accessKeyID", body.string("accessKeyID"))
            let secret = try body.required("secretAccessKey", body.string("secretAccessKey"))
            return Key(kind: .accessKey, accessKeyID: accessKeyID, secret: Secret(secret))
        }
        for name in ["accessKeyID", "secretAccessKey"] where try body.string(name) != nil {
            throw body.invalid(name, "Send either an access key or a service account, not both.")
        }
        let address = try account.required("client_email", account.string("client_email"))
        let secret = try account.required("private_key", account.string("private_key"))
        return Key(kind: .serviceAccount, accessKeyID: address, secret: Secret(secret))
    }

    /// Reads a key that replaces another of the same kind; `nil` where the old key stays.
    private static func newKey(_ body: inout JSONObject, over old: StorageCredential) throws(GatewayError) -> Key? {
        // A client may repeat the name of the service account as it read it. A new key brings its own.
        if old.secretKind == .serviceAccount {
            let repeated = try body.string("accessKeyID")
            guard repeated == nil || repeated == old.accessKeyID else {
                throw body.invalid(
                    "accessKeyID",
                    "The name of a service account can change only together with its "
                        + "key.")
            }
        }
        var rest = body
        if try rest.object("serviceAccount") == nil, try rest.string("secretAccessKey") == nil {
            let accessKeyID = try body.string("accessKeyID")
            guard accessKeyID == nil || accessKeyID == old.accessKeyID else {
                throw body.invalid("secretAccessKey", "A new access key requires its 'secretAccessKey'.")
            }
            return nil
        }
        let key = try key(&body)
        guard key.kind == old.secretKind else {
            throw body.invalid("serviceAccount", "The kind of a credential cannot change; create another credential.")
        }
        return key
    }

    var identifier: String { id.uuidString.lowercased() }

    mutating func keep(_ old: StorageCredential) {
        id = old.id
        createdAt = old.createdAt
        previousKey = old.previousKey
    }

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
        if let previousKey {
            json.name("previousKey")
            json.object { json in
                json.member("accessKeyID", previousKey.accessKeyID)
                json.member("removableAt", previousKey.neededUntil)
            }
        }
        json.member("createdAt", createdAt)
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
