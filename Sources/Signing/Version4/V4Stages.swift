import Bytes

/// The stages that "version 4" signatures in the query and in the header share.
enum V4Stages {
    /// Refuses a method or query that the scheme cannot express.
    static func check(method: String, query: [NamedValue], dialect: V4Dialect) throws(SigningError) {
        try RequestMethod.check(method)
        for parameter in query where dialect.parameters.contain(parameter.name) {
            throw .reservedQueryParameter(parameter.name)
        }
    }

    /// The path that is signed.
    static func canonicalPath(of address: BucketAddress, key: String, dialect: V4Dialect) -> [UInt8] {
        var path = dialect.signedFront(of: address)
        PercentEncoding.append(key, keeping: .unreservedAndSlash, to: &path)
        return path
    }

    /// The path that is sent.
    static func path(
        of address: BucketAddress, key: String, keeping kept: ByteSet
    ) -> [UInt8] {
        var path = address.front.signed
        PercentEncoding.append(key, keeping: kept, to: &path)
        return path
    }
}
