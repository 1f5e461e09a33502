import LibCrypto
import Signing

extension StringPermission {
    /// What stores take a missing content type for.
    static let defaultContentType = "application/octet-stream"

    /// Whether the signature holds only for a request with a header.
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
