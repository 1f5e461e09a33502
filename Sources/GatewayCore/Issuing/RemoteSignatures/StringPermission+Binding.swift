import Bytes
import Signing

extension StringPermission {
    /// Returns whether the signature is valid only for a request that sends this header.
    func binds(_ header: NamedValue) -> Bool {
        switch header.name {
        case "content-type": contentType?.isSameBytes(as: header.value) ?? false
        case "content-md5": contentMD5?.isSameBytes(as: header.value) ?? false
        case "content-length": contentLength.map { String($0) == header.value } ?? false
        default: headers.contains { $0.name == header.name && $0.value.isSameBytes(as: header.value) }
        }
    }
}
