import LibCrypto

/// The stages that the query and the header form of "version 4" schemes share.
enum V4Stages {
    /// Refuses what no stage could express.
    static func check(method: String, query: [NamedValue], dialect: V4Dialect) throws(SigningError) {
        try check(method: method)
        for parameter in query where dialect.parameters.contain(parameter.name) {
            throw .reservedQueryParameter(parameter.name)
        }
    }

    /// Refuses a method that is not made of upper-case letters.
    static func check(method: String) throws(SigningError) {
        guard !method.isEmpty, method.utf8.allSatisfy({ (0x41...0x5A).contains($0) }) else {
            throw .invalidMethod(method)
        }
    }

    /// The path that is signed.
    static func appendCanonicalPath(
        of address: BucketAddress, key: String, dialect: V4Dialect, to buffer: inout [UInt8]
    ) {
        guard dialect.pathAlwaysNamesBucket else {
            return appendPath(of: address, key: key, keeping: PercentEncoding.unreservedAndSlash, to: &buffer)
        }
        buffer.append(UInt8(ascii: "/"))
        guard !address.bucket.isEmpty else { return }
        PercentEncoding.append(address.bucket, keeping: PercentEncoding.unreserved, to: &buffer)
        buffer.append(UInt8(ascii: "/"))
        PercentEncoding.append(key, keeping: PercentEncoding.unreservedAndSlash, to: &buffer)
    }

    /// The path that is sent.
    static func appendPath(
        of address: BucketAddress, key: String, keeping kept: PercentEncoding.ByteSet, to buffer: inout [UInt8]
    ) {
        buffer += address.path.utf8
        buffer.append(UInt8(ascii: "/"))
        PercentEncoding.append(key, keeping: kept, to: &buffer)
    }

    /// Second stage: algorithm, time, scope and hash of the canonical request.
    static func stringToSign(
        _ canonicalRequest: [UInt8], scope: String, instant: SigningInstant, dialect: V4Dialect
    ) -> [UInt8] {
        var text: [UInt8] = []
        text.reserveCapacity(192)
        let newline = UInt8(ascii: "\n")
        text += dialect.algorithm.utf8
        text.append(newline)
        instant.appendBasic(to: &text)
        text.append(newline)
        text += scope.utf8
        text.append(newline)
        DigestAlgorithm.sha256.digest(of: canonicalRequest).appendHex(to: &text)
        return text
    }
}
