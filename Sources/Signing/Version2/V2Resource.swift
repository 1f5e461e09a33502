import Bytes

/// The path of a resource, as it is sent and as "version 2" schemes sign it.
struct V2Resource {
    let address: BucketAddress
    let key: String
    let pathForm: PresignRequest.PathForm

    /// The path as it is written in the URL.
    ///
    /// - Throws: ``SigningError/pathNamesAnotherObject(_:)``, or ``SigningError/ambiguousKey(_:)``.
    func urlPath(_ dialect: V2Dialect) throws(SigningError) -> [UInt8] {
        if case .raw = dialect.resourceForm {
            guard !key.utf8.contains(UInt8(ascii: "?")) else {
                throw .ambiguousKey("it holds '?', after which sub-resources are signed")
            }
            guard !key.utf8.contains(UInt8(ascii: "\n")) else {
                throw .ambiguousKey("it holds a line feed, which separates what is signed")
            }
        }
        switch pathForm {
        case .slashKept: return encodedPath(keeping: .unreservedAndSlash)
        case .slashEscaped: return encodedPath(keeping: .unreserved)
        case .asSent(let path):
            let bytes = Array(path.utf8)
            let object = encodedPath(keeping: .unreservedAndSlash)
            guard bytes.allSatisfy(ByteSet.path.contains),
                let decoded = PercentEncoding.decode(bytes, plusIsSpace: false),
                decoded == PercentEncoding.decode(object, plusIsSpace: false)
            else { throw .pathNamesAnotherObject(path) }
            return bytes
        }
    }

    /// The path as it is signed: it includes the bucket even if the host names it.
    func signedPath(_ dialect: V2Dialect, urlPath: [UInt8]) -> [UInt8] {
        guard !address.bucket.isEmpty else { return urlPath }
        switch dialect.resourceForm {
        case .raw:
            return Array("/\(address.bucket)/\(key)".utf8)
        case .pathAsSent, .form:
            guard !address.isPathStyle else { return urlPath }
            return Array("/".utf8) + PercentEncoding.encode(address.bucket, keeping: .unreserved)
                + urlPath
        }
    }

    private func encodedPath(keeping kept: ByteSet) -> [UInt8] {
        var path = Array("\(address.path)/".utf8)
        PercentEncoding.append(key, keeping: kept, to: &path)
        return path
    }
}
