import GatewayCore
import StrictJSON

extension MultipartUpload {
    /// Writes what the owner of the upload may know. The store's own name for the upload is left out.
    func write(to json: inout JSONWriter) {
        json.member("id", id)
        json.member("bucket", bucket.rawValue)
        json.member("key", key.rawValue)
        json.member("contentType", contentType.text)
        if let contentLength { json.member("contentLength", contentLength) }
        json.member("state", state.rawValue)
        json.member("etag", etag)
        json.member("createdAt", createdAt)
        json.member("expiresAt", expiresAt)
    }

    func writeForAdmins(to json: inout JSONWriter) {
        write(to: &json)
        json.member("principal", principal.rawValue)
        json.member("storeUploadID", storeUploadID)
    }
}

extension StoredPart {
    func write(to json: inout JSONWriter) {
        json.member("partNumber", part.number)
        json.member("etag", part.etag)
        json.member("size", size)
        json.member("lastModifiedAt", modifiedAt)
    }
}
