import Bytes

/// A string to sign of a "version 2" scheme from a client, parsed.
///
/// Every part is kept unchanged, so that writing them again yields the same bytes. Parsing does not decide whether to
/// sign.
public struct ReceivedStringToSign: Sendable, Hashable {
    /// Maximum length in bytes.
    public static let maxByteCount = 8192

    /// Vendor of the scheme.
    public let vendor: StoreVendor
    /// Method in upper case.
    public let method: String
    /// Value of `Content-MD5`, empty if there is none.
    public let contentMD5: String
    /// Value of `Content-Type`, empty if there is none.
    public let contentType: String
    /// The date line: a date, seconds since 1970, or empty.
    public let date: String
    /// The vendor's headers, names in lower case and sorted.
    public let headers: [NamedValue]
    /// The path as received: raw for Alibaba OSS, otherwise percent-encoded.
    public let path: String
    /// The bucket in the path.
    public let bucket: String
    /// The key in the path, decoded.
    public let key: String
    /// The signed query parameters, sorted.
    public let subResources: [NamedValue]

    /// Parses a string.
    ///
    /// - Throws: ``StringToSignRefusal`` unless it is the string of a request for one object.
    public init(_ text: String, vendor: StoreVendor) throws(StringToSignRefusal) {
        guard text.utf8.count <= Self.maxByteCount else { throw .tooLong }
        let lineFeed = UInt8(ascii: "\n")
        guard !text.utf8.contains(where: { $0 < 0x20 && $0 != lineFeed || $0 == 0x7F }) else {
            throw .controlCharacter
        }
        let lines = text.utf8.split(separator: lineFeed, omittingEmptySubsequences: false)
            .map { String(Substring($0)) }
        guard !Self.isVersion4(lines[0]) else { throw .canonicalRequestNeeded }
        guard lines.count >= 5, let resource = lines.last else { throw .notARequest }
        self.vendor = vendor
        method = lines[0]
        contentMD5 = lines[1]
        contentType = lines[2]
        date = lines[3]
        guard ["GET", "HEAD", "PUT", "POST", "DELETE"].contains(method) else { throw .methodNotAllowed }
        headers = try HeaderLines(
            lines[4..<lines.index(before: lines.endIndex)], prefix: vendor.headerPrefix, malformed: .invalidLine
        ).headers
        guard resource.utf8.first == UInt8(ascii: "/") else { throw .invalidLine }
        let halves = resource.utf8.split(
            separator: UInt8(ascii: "?"), maxSplits: 1, omittingEmptySubsequences: false)
        path = String(Substring(halves[0]))
        (bucket, key) = try Self.object(at: path, isEncoded: vendor != .alibaba)
        subResources = try halves.count == 1 ? [] : Self.subResources(Substring(halves[1]), vendor: vendor)
    }

    /// The string, rewritten from its parts.
    public var text: String {
        var lines = [method, contentMD5, contentType, date]
        lines += headers.map { "\($0.name):\($0.value)" }
        let parameters = subResources.map { $0.value.isEmpty ? $0.name : "\($0.name)=\($0.value)" }
        lines.append(path + (parameters.isEmpty ? "" : "?" + parameters.joined(separator: "&")))
        return lines.joined(separator: "\n")
    }

    static func isVersion4(_ firstLine: String) -> Bool {
        ["OSS4-", "AWS4-", "GOOG4-"].contains { firstLine.utf8.starts(with: $0.utf8) }
    }

    private static func object(
        at path: String, isEncoded: Bool
    ) throws(StringToSignRefusal) -> (bucket: String, key: String) {
        let parts = path.utf8.dropFirst().split(
            separator: UInt8(ascii: "/"), maxSplits: 1, omittingEmptySubsequences: false)
        let bucket = String(Substring(parts[0]))
        guard !bucket.isEmpty else { throw .serviceResource }
        guard KeySyntax.isBucketName(bucket) else { throw .invalidBucketName }
        guard parts.count == 2, !parts[1].isEmpty else { throw .bucketResource }
        let key = isEncoded ? try StringPath.decode(parts[1]) : String(Substring(parts[1]))
        guard KeySyntax.flaw(inKey: key) == nil else { throw .invalidKey }
        return (bucket, key)
    }

    private static func subResources(
        _ text: Substring, vendor: StoreVendor
    ) throws(StringToSignRefusal) -> [NamedValue] {
        var parameters: [NamedValue] = []
        for piece in text.utf8.split(separator: UInt8(ascii: "&"), omittingEmptySubsequences: false) {
            let sides = piece.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
            let name = String(Substring(sides[0]))
            // A parameter without a value is written as the bare name.
            guard vendor.version2.subResources.contain(name), sides.count == 1 || !sides[1].isEmpty else {
                throw .invalidSubResources
            }
            if let last = parameters.last {
                guard last.name.utf8.lexicographicallyPrecedes(name.utf8) else { throw .notAscending }
            }
            parameters.append(NamedValue(name, sides.count == 1 ? "" : String(Substring(sides[1]))))
        }
        return parameters
    }
}

/// Percent-encoded paths in strings to sign.
enum StringPath {
    /// The key that a path names. Stores and proxies must not be able to read another key.
    static func decode(_ encoded: some Collection<UInt8>) throws(StringToSignRefusal) -> String {
        let bytes = Array(encoded)
        // Some stores read '+' as a space.
        guard bytes.allSatisfy(ByteSet.path.contains), !bytes.contains(UInt8(ascii: "+")),
            let key = PercentEncoding.text(bytes, plusIsSpace: false)
        else { throw .invalidPath }
        // Some readers take an escaped slash for a separator, others for part of a name.
        let slash = UInt8(ascii: "/")
        guard bytes.count(where: { $0 == slash }) == key.utf8.count(where: { $0 == slash }) else { throw .invalidPath }
        return key
    }
}
