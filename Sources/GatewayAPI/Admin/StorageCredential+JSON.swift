import Foundation
import GatewayCore

extension StorageCredential: AdminResource {
    static var kind: ResourceKind { .storageCredential }
    static var filters: Set<String> { ["name"] }
    static var collectionPath: String { "/admin/v1/storage-credentials" }

    init(_ body: inout JSONObject, as new: NewRow) throws(GatewayError) {
        self.init(
            id: new.id,
            name: try body.required("name", body.string("name")),
            accessKeyID: try body.required("accessKeyID", body.string("accessKeyID")),
            secretAccessKey: Secret(try body.required("secretAccessKey", body.string("secretAccessKey"))),
            sessionToken: try body.string("sessionToken").map { Secret($0) },
            expiresAt: try body.instant("expiresAt"),
            createdAt: new.now
        )
    }

    var identifier: String { id.uuidString.lowercased() }

    func write(to json: inout JSONWriter) {
        json.member("id", id)
        json.member("name", name)
        json.member("accessKeyID", accessKeyID)
        json.member("hasSessionToken", sessionToken != nil)
        json.member("expiresAt", expiresAt)
        json.member("createdAt", createdAt)
    }
}
