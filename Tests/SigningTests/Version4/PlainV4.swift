import Foundation

/// "Version 4" signatures once more, with strings and Foundation, as slow and plain as in the documentation. It shares
/// nothing with the code that it judges.
struct PlainV4 {
    /// The schemes, each according to its vendor's documents.
    enum Scheme: String, CaseIterable, Sendable {
        case awsQuery, awsHeader, ossQuery, ossHeader, gcsQuery

        var isHeader: Bool { self == .awsHeader || self == .ossHeader }
        var isOSS: Bool { self == .ossQuery || self == .ossHeader }
        var algorithm: String {
            isOSS ? "OSS4-HMAC-SHA256" : self == .gcsQuery ? "GOOG4-HMAC-SHA256" : "AWS4-HMAC-SHA256"
        }
        var headerPrefix: String { isOSS ? "x-oss-" : self == .gcsQuery ? "x-goog-" : "x-amz-" }
        var secretPrefix: String { isOSS ? "aliyun_v4" : self == .gcsQuery ? "GOOG4" : "AWS4" }
        var service: String { isOSS ? "oss" : self == .gcsQuery ? "storage" : "s3" }
        var terminator: String { isOSS ? "aliyun_v4_request" : self == .gcsQuery ? "goog4_request" : "aws4_request" }
    }

    let canonicalRequest: String
    let stringToSign: String
    let signature: String
    let url: String
    let authorization: String

    init(_ request: GeneratedRequest, scheme: Scheme) {
        let (origin, authority, base) = Self.address(of: request)
        let path = base + "/" + Self.escape(request.key, keepingSlash: true)
        let signedPath = scheme.isOSS ? "/\(request.bucket)/" + Self.escape(request.key, keepingSlash: true) : path
        let date = Self.date(request.epochSeconds)
        let day = String(date.prefix(8))
        let scope = "\(day)/\(request.region)/\(scheme.service)/\(scheme.terminator)"

        var headers = request.headers.map { ($0.name.lowercased(), Self.value($0.value, scheme: scheme)) }
        if !scheme.isOSS { headers.append(("host", authority)) }
        if scheme.isHeader {
            headers.append(("\(scheme.headerPrefix)date", date))
            headers.append(("\(scheme.headerPrefix)content-sha256", "UNSIGNED-PAYLOAD"))
            if let token = request.securityToken {
                headers.append(("\(scheme.headerPrefix)security-token", Self.value(token, scheme: scheme)))
            }
        }
        headers.sort { $0.0.unicodeScalars.lexicographicallyPrecedes($1.0.unicodeScalars) }
        let own = ["content-type", "content-md5"]
        let named = headers.map(\.0).filter { !scheme.isOSS || !own.contains($0) && !$0.hasPrefix("x-oss-") }
        let names = named.joined(separator: ";")

        var parameters = request.query.map { ($0.name, $0.value) }
        if !scheme.isHeader {
            parameters += Self.parameters(of: request, scheme: scheme, scope: scope, date: date, names: names)
        }
        let query = Self.query(parameters, scheme: scheme)
        canonicalRequest = """
            \(request.method)
            \(signedPath)
            \(query)
            \(headers.map { "\($0.0):\($0.1)\n" }.joined())
            \(names)
            UNSIGNED-PAYLOAD
            """
        stringToSign = """
            \(scheme.algorithm)
            \(date)
            \(scope)
            \(Self.hex(PlainSHA256.hash(Array(canonicalRequest.utf8))))
            """
        var key = Array("\(scheme.secretPrefix)\(request.secretAccessKey)".utf8)
        for part in [day, request.region, scheme.service, scheme.terminator] {
            key = PlainSHA256.authenticationCode(key: key, message: Array(part.utf8))
        }
        signature = Self.hex(PlainSHA256.authenticationCode(key: key, message: Array(stringToSign.utf8)))
        let target = origin + path + (query.isEmpty ? "" : "?\(query)")
        switch scheme {
        case .awsQuery: url = "\(target)&X-Amz-Signature=\(signature)"
        case .gcsQuery: url = "\(target)&X-Goog-Signature=\(signature)"
        case .ossQuery: url = "\(target)&x-oss-signature=\(signature)"
        case .awsHeader, .ossHeader: url = target
        }
        let credential = "\(request.accessKeyID)/\(scope)"
        authorization =
            scheme.isOSS
            ? "OSS4-HMAC-SHA256 Credential=\(credential)\(names.isEmpty ? "" : ",AdditionalHeaders=\(names)"),Signature=\(signature)"
            : "AWS4-HMAC-SHA256 Credential=\(credential), SignedHeaders=\(names), Signature=\(signature)"
    }

    private static func parameters(
        of request: GeneratedRequest, scheme: Scheme, scope: String, date: String, names: String
    ) -> [(String, String)] {
        let credential = "\(request.accessKeyID)/\(scope)"
        var parameters: [(String, String)] = []
        if scheme == .ossQuery {
            parameters = [
                ("x-oss-signature-version", scheme.algorithm), ("x-oss-credential", credential), ("x-oss-date", date),
                ("x-oss-expires", "\(request.expiresInSeconds)"),
            ]
            if !names.isEmpty { parameters.append(("x-oss-additional-headers", names)) }
            if let token = request.securityToken { parameters.append(("x-oss-security-token", token)) }
            return parameters
        }
        let prefix = scheme == .gcsQuery ? "X-Goog-" : "X-Amz-"
        parameters = [
            ("Algorithm", scheme.algorithm), ("Credential", credential), ("Date", date),
            ("Expires", "\(request.expiresInSeconds)"), ("SignedHeaders", names),
        ].map { (prefix + $0.0, $0.1) }
        if let token = request.securityToken { parameters.append(("\(prefix)Security-Token", token)) }
        return parameters
    }

    private static func query(_ parameters: [(String, String)], scheme: Scheme) -> String {
        parameters.map { (escape($0.0), escape($0.1)) }
            .sorted {
                $0.0 == $1.0
                    ? $0.1.unicodeScalars.lexicographicallyPrecedes($1.1.unicodeScalars)
                    : $0.0.unicodeScalars.lexicographicallyPrecedes($1.0.unicodeScalars)
            }
            .map { $0.1.isEmpty && scheme.isOSS ? $0.0 : "\($0.0)=\($0.1)" }.joined(separator: "&")
    }

    private static func date(_ epochSeconds: Int64) -> String {
        let format = Date.VerbatimFormatStyle(
            format: """
                \(year: .padded(4))\(month: .twoDigits)\(day: .twoDigits)T\
                \(hour: .twoDigits(clock: .twentyFourHour, hourCycle: .zeroBased))\(minute: .twoDigits)\
                \(second: .twoDigits)Z
                """,
            locale: Locale(identifier: "en_US_POSIX"), timeZone: .gmt, calendar: Calendar(identifier: .gregorian)
        )
        return Date(timeIntervalSince1970: TimeInterval(epochSeconds)).formatted(format)
    }

    private static func address(of request: GeneratedRequest) -> (origin: String, authority: String, base: String) {
        let isOwnPort = request.port == (request.scheme == "http" ? 80 : 443)
        let port = request.port.map { isOwnPort ? "" : ":\($0)" } ?? ""
        let host = (request.addressing == "virtual" ? "\(request.bucket)." : "") + request.endpointHost.lowercased()
        // To a store, the escaped slash of the generated prefix is a slash, as in a key.
        let prefixes = ["": "", "/": "", "/s3": "/s3", "/a%20b/c%2Fd/": "/a%20b/c/d"]
        let base = (prefixes[request.prefix] ?? "") + (request.addressing == "path" ? "/\(request.bucket)" : "")
        return ("\(request.scheme)://\(host)\(port)", "\(host)\(port)", base)
    }

    private static func escape(_ text: String, keepingSlash: Bool = false) -> String {
        var kept = CharacterSet(charactersIn: "-._~0123456789")
        kept.insert(charactersIn: "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")
        if keepingSlash { kept.insert("/") }
        return text.addingPercentEncoding(withAllowedCharacters: kept) ?? "not UTF-8"
    }

    /// Normalises a header value. OSS trims it; the others also reduce runs of spaces to single ones.
    private static func value(_ value: String, scheme: Scheme) -> String {
        if scheme.isOSS { return value.trimmingCharacters(in: CharacterSet(charactersIn: " \t")) }
        return value.unicodeScalars.split { $0 == " " || $0 == "\t" }.map { String(String.UnicodeScalarView($0)) }
            .joined(separator: " ")
    }

    private static func hex(_ bytes: [UInt8]) -> String {
        bytes.map { String(format: "%02x", $0) }.joined()
    }
}
