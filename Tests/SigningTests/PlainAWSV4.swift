import Foundation

/// AWS Signature Version 4 in the query once more, with strings and Foundation, as slowly and plainly as it reads in the
/// documentation. It shares nothing with the code that it judges.
struct PlainAWSV4 {
    let canonicalRequest: String
    let stringToSign: String
    let signature: String
    let url: String

    init(_ request: GeneratedRequest) {
        let (origin, authority, base) = Self.address(of: request)
        let path = base + "/" + Self.escape(request.key, keepingSlash: true)
        let format = Date.VerbatimFormatStyle(
            format: """
                \(year: .padded(4))\(month: .twoDigits)\(day: .twoDigits)T\
                \(hour: .twoDigits(clock: .twentyFourHour, hourCycle: .zeroBased))\(minute: .twoDigits)\
                \(second: .twoDigits)Z
                """,
            locale: Locale(identifier: "en_US_POSIX"), timeZone: .gmt, calendar: Calendar(identifier: .gregorian)
        )
        let date = Date(timeIntervalSince1970: TimeInterval(request.epochSeconds)).formatted(format)
        let day = String(date.prefix(8))
        let scope = "\(day)/\(request.region)/s3/aws4_request"

        var headers = request.headers.map { ($0.name.lowercased(), Self.collapse($0.value)) }
        headers.append(("host", authority))
        headers.sort { $0.0.unicodeScalars.lexicographicallyPrecedes($1.0.unicodeScalars) }
        let names = headers.map(\.0).joined(separator: ";")

        var parameters = request.query.map { ($0.name, $0.value) }
        parameters += [
            ("X-Amz-Algorithm", "AWS4-HMAC-SHA256"), ("X-Amz-Credential", "\(request.accessKeyID)/\(scope)"),
            ("X-Amz-Date", date), ("X-Amz-Expires", "\(request.expiresInSeconds)"), ("X-Amz-SignedHeaders", names),
        ]
        if let token = request.securityToken { parameters.append(("X-Amz-Security-Token", token)) }
        let query = parameters.map { (Self.escape($0.0), Self.escape($0.1)) }
            .sorted {
                $0.0 == $1.0
                    ? $0.1.unicodeScalars.lexicographicallyPrecedes($1.1.unicodeScalars)
                    : $0.0.unicodeScalars.lexicographicallyPrecedes($1.0.unicodeScalars)
            }
            .map { "\($0.0)=\($0.1)" }.joined(separator: "&")

        canonicalRequest = """
            \(request.method)
            \(path)
            \(query)
            \(headers.map { "\($0.0):\($0.1)\n" }.joined())
            \(names)
            UNSIGNED-PAYLOAD
            """
        stringToSign = """
            AWS4-HMAC-SHA256
            \(date)
            \(scope)
            \(Self.hex(PlainSHA256.hash(Array(canonicalRequest.utf8))))
            """
        var key = Array("AWS4\(request.secretAccessKey)".utf8)
        for part in [day, request.region, "s3", "aws4_request"] {
            key = PlainSHA256.authenticationCode(key: key, message: Array(part.utf8))
        }
        signature = Self.hex(PlainSHA256.authenticationCode(key: key, message: Array(stringToSign.utf8)))
        url = "\(origin)\(path)?\(query)&X-Amz-Signature=\(signature)"
    }

    private static func address(of request: GeneratedRequest) -> (origin: String, authority: String, base: String) {
        let isOwnPort = request.port == (request.scheme == "http" ? 80 : 443)
        let port = request.port.map { isOwnPort ? "" : ":\($0)" } ?? ""
        let host = (request.addressing == "virtual" ? "\(request.bucket)." : "") + request.endpointHost.lowercased()
        // The escaped slash of the generated prefix is a slash to a store, as in a key.
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

    private static func collapse(_ value: String) -> String {
        value.unicodeScalars.split { $0 == " " || $0 == "\t" }.map { String(String.UnicodeScalarView($0)) }
            .joined(separator: " ")
    }

    private static func hex(_ bytes: [UInt8]) -> String {
        bytes.map { String(format: "%02x", $0) }.joined()
    }
}
