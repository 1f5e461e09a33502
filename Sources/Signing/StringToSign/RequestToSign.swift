import Bytes
import LibCrypto

/// A request to Amazon S3 or a compatible store that a client is about to send and wants signed: method, URL and
/// headers.
///
/// It is kept only if it can be read in one way: the URL must be encoded as the signature encodes it, and each
/// parameter and header must occur once.
public struct RequestToSign: Sendable, Hashable {
    /// Maximum length of a URL in bytes.
    static let maxURLByteCount = 8192

    /// Method, in upper case.
    public let method: String
    /// Scheme and authority, as sent.
    public let origin: String
    /// Headers that the signature binds, names in lower case.
    public let headers: [NamedValue]
    /// The parameters of the query, decoded.
    public let parameters: [NamedValue]
    private let path: String
    /// The parameters as sent, sorted by name, each with `=`.
    private let query: String

    /// Reads a request.
    ///
    /// - Parameters:
    ///   - method: Method in upper case.
    ///   - url: The URL, absolute.
    ///   - headers: All headers that the client knows it will send.
    /// - Throws: ``StringToSignRefusal`` for anything that a store could read in another way than the gateway, and for
    ///   headers that only the signer may write.
    public init(method: String, url: String, headers: [NamedValue]) throws(StringToSignRefusal) {
        guard url.utf8.count <= Self.maxURLByteCount else { throw .tooLong }
        guard url.utf8.allSatisfy({ 0x21...0x7E ~= $0 && $0 != UInt8(ascii: "#") && $0 != UInt8(ascii: "\\") }) else {
            throw .invalidPath
        }
        let parts = url.utf8.split(separator: UInt8(ascii: "/"), maxSplits: 3, omittingEmptySubsequences: false)
            .map { Substring($0) }
        guard parts.count == 4, parts[0] == "https:" || parts[0] == "http:", parts[1].isEmpty,
            let last = parts[2].utf8.last, last != UInt8(ascii: "@"), !parts[2].utf8.contains(UInt8(ascii: "?"))
        else { throw .invalidPath }
        self.method = method
        origin = "\(parts[0])//\(parts[2])"
        let sides = parts[3].utf8.split(separator: UInt8(ascii: "?"), maxSplits: 1, omittingEmptySubsequences: false)
            .map { Substring($0) }
        path = "/" + sides[0]
        (query, parameters) = sides.count == 2 ? try Self.sorted(sides[1]) : ("", [])
        self.headers = try Self.signed(headers, host: String(parts[2]))
    }

    /// Host and port, without a user that may precede them.
    public var authority: String {
        let parts = origin.utf8.split { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "@") }
        return parts.last.map { String(Substring($0)) } ?? ""
    }

    /// The names of buckets that the URL may be meant for: what precedes a dot in its host, and the first segment of
    /// its path.
    public var bucketNames: [String] {
        let authority = origin.utf8.split(separator: UInt8(ascii: "/")).last ?? ""[...].utf8
        let host = authority.prefix { $0 != UInt8(ascii: ":") }
        let segment = path.utf8.dropFirst().prefix { $0 != UInt8(ascii: "/") }
        let ends = host.indices.filter { host[$0] == UInt8(ascii: ".") }.prefix(Self.maxLabels)
        return ([segment] + ends.map { host[..<$0] }).map { String(Substring($0)) }
    }

    private static let maxLabels = 6

    /// Whether the parameters are those of a listing.
    public var isListing: Bool { method == "GET" && parameters.contains { $0.name == "list-type" } }

    /// Returns what the path names in a bucket, decoded: a key, or nothing for the bucket itself. Returns `nil` if the
    /// URL does not lead to the bucket, or can be read in two ways.
    public func key(at address: BucketAddress) -> String? {
        guard origin.isSameBytes(as: address.origin) else { return nil }
        if path.isSameBytes(as: address.path) { return "" }
        let front = address.path + "/"
        guard path.utf8.starts(with: front.utf8) else { return nil }
        return PercentEncoding.text(path.utf8.dropFirst(front.utf8.count), plusIsSpace: false)
    }

    /// Whether the same signature serves for other requests with the same method and URL: it reads, and it binds no
    /// condition.
    public var isRepeatable: Bool {
        (method == "GET" || method == "HEAD") && !headers.contains { $0.name.utf8.starts(with: "if-".utf8) }
    }

    /// Applies all rules that do not depend on grants.
    ///
    /// - Returns: The string to sign, and the headers that the client must send besides its own, names in lower case.
    /// - Throws: ``StringToSignRefusal``.
    public func permitted(
        by signer: ReceivedCanonicalRequest.Signer, _ rules: StringRules
    ) throws(StringToSignRefusal) -> (string: PermittedString, headers: [NamedValue]) {
        guard origin.isSameBytes(as: signer.address.origin) else { throw .wrongHost }
        let added = self.added(rules)
        let bound = (headers + added + [NamedValue("host", signer.address.authority)])
            .sorted { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
        let payload = bound.first { $0.name == Self.payloadHeader }?.value ?? ""
        let text =
            "\(method)\n\(path)\n\(query)\n" + bound.map { "\($0.name):\($0.value)\n" }.joined()
            + "\n\(bound.map(\.name).joined(separator: ";"))\n\(payload)"
        let request = try ReceivedCanonicalRequest(text, scope: signer.scope)
        let scope = "\(rules.now.day)/\(signer.scope.region)/\(signer.scope.service)/\(V4Dialect.aws.terminator)"
        let hash = DigestAlgorithm.sha256.digest(of: text).hex
        let string = try request.permitted(
            stringToSign: "\(V4Dialect.aws.algorithm)\n\(rules.now.basic)\n\(scope)\n\(hash)", by: signer, rules)
        return (string, added)
    }

    /// The headers that the signer writes. An upload without a content type gets the one that stores assume, so that
    /// the signature binds it, and the encryption that the bucket demands.
    private func added(_ rules: StringRules) -> [NamedValue] {
        var added = [NamedValue("x-amz-date", rules.now.basic)]
        if !headers.contains(where: { $0.name == Self.payloadHeader }) {
            added.append(NamedValue(Self.payloadHeader, PayloadHash.unsigned.text))
        }
        if let token = rules.securityToken { added.append(NamedValue("x-amz-security-token", token)) }
        let begins = method == "PUT" && query.isEmpty || method == "POST" && query == "uploads="
        guard begins else { return added }
        let assumed = [NamedValue("content-type", "application/octet-stream")] + rules.encryption
        return added + assumed.filter { header in !headers.contains { $0.name == header.name } }
    }

    private static let payloadHeader = V4Dialect.aws.headerForm.payloadHeader

    /// Splits a query, and sorts it by name. Whether names are distinct, and encoded in the one way, is checked later.
    private static func sorted(
        _ query: Substring
    ) throws(StringToSignRefusal) -> (text: String, parameters: [NamedValue]) {
        var pieces: [(name: Substring.UTF8View, text: String, parameter: NamedValue)] = []
        for piece in query.utf8.split(separator: UInt8(ascii: "&"), omittingEmptySubsequences: false) {
            let name = piece.prefix { $0 != UInt8(ascii: "=") }
            guard !name.isEmpty, let decodedName = text(name), let value = text(piece.dropFirst(name.count).dropFirst())
            else { throw .invalidSubResources }
            let text = String(Substring(piece))
            pieces.append((name, name.count == piece.count ? text + "=" : text, NamedValue(decodedName, value)))
        }
        pieces.sort { $0.name.lexicographicallyPrecedes($1.name) }
        return (pieces.map(\.text).joined(separator: "&"), pieces.map(\.parameter))
    }

    private static func text(_ encoded: some Collection<UInt8>) -> String? {
        PercentEncoding.text(encoded, plusIsSpace: false)
    }

    /// Returns the headers that are to be signed: all but those that concern the connection, the part of the object
    /// that is read, or the software of the client.
    private static func signed(_ headers: [NamedValue], host: String) throws(StringToSignRefusal) -> [NamedValue] {
        var names: Set<String> = []
        var signed: [NamedValue] = []
        for header in headers {
            guard let name = try? HeaderName.lowerCased(header.name) else { throw .headerNotAllowed }
            guard names.insert(name).inserted else { throw .notAscending }
            let value = header.value
            guard value.utf8.allSatisfy(ByteSet.printable.contains), !value.contains("  ") else {
                throw .valueNotAllowed
            }
            switch name {
            case "host":
                guard value.isSameBytes(as: host) else { throw .wrongHost }
            case "date", "x-amz-date": throw .datesDiffer
            case "x-amz-security-token": throw .securityToken
            case let name where unsigned.contains(name): break
            default: signed.append(NamedValue(name, value))
            }
        }
        return signed
    }

    private static let unsigned: Set<String> = [
        "accept", "accept-encoding", "amz-sdk-invocation-id", "amz-sdk-request", "amz-sdk-retry", "connection",
        "expect", "range", "user-agent", "x-amzn-trace-id",
    ]
}
