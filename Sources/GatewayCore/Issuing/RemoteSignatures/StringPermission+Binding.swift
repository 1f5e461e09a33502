import Bytes
import Signing

extension StringPermission {
    /// The content type that stores assume if none is sent.
    static let defaultContentType = "application/octet-stream"

    /// Returns whether the signature is valid only for a request that sends this header.
    func binds(_ header: NamedValue) -> Bool {
        switch header.name {
        case "content-type":
            guard let contentType else { return bindsAbsentContentType && header.value == Self.defaultContentType }
            return contentType.isSameBytes(as: header.value)
        case "content-md5": return contentMD5?.isSameBytes(as: header.value) ?? false
        case "content-length": return contentLength.map { String($0) == header.value } ?? false
        default: return headers.contains { $0.name == header.name && $0.value.isSameBytes(as: header.value) }
        }
    }
}
