/// The texts of an answer by which whoever holds them can do something: signatures, policies that are signed, temporary
/// credentials, API keys and tickets.
///
/// Names of keys, URLs without a signature and public keys are none.
struct IssuedSecrets {
    private(set) var texts: Set<String> = []

    /// Takes them from the body of an answer, which is JSON or the XML of AWS, and from the link to which it redirects.
    init(_ body: [UInt8], location: String? = nil) {
        if let location { take(linkedBy: location) }
        if body.first == UInt8(ascii: "<") {
            for element in String(decoding: body, as: UTF8.self).matches(of: #/<(\w+)>([^<]+)/#) {
                take(String(element.output.2), as: String(element.output.1))
            }
        } else if let json = try? JSON(body) {
            visit(json, "")
        }
    }

    private mutating func visit(_ json: JSON, _ name: String) {
        switch json {
        case .string(let text): take(text, as: name)
        case .array(let items): for item in items { visit(item, name) }
        case .object(let members): for (name, value) in members { visit(value, name) }
        case .null, .bool, .number: break
        }
    }

    private mutating func take(_ text: String, as name: String) {
        let name = name.lowercased()
        if text.hasPrefix("http://") || text.hasPrefix("https://") {
            take(linkedBy: text)
        } else if name == "authorization" {
            // `… Signature=…` or `OSS id:…`
            keep(text.split { $0 == "=" || $0 == ":" }.last ?? "")
        } else if Self.isSecret(name) {
            keep(text[...])
        } else {
            // Keys and tickets, `sluice_…` and `sluicet_…`, end with their secret part.
            let parts = text.split(separator: "_", maxSplits: 2)
            if parts.count == 3, parts[0].hasPrefix("sluice"), parts[1].utf8.count == 12 { keep(parts[2]) }
        }
    }

    private mutating func take(linkedBy link: String) {
        // Alibaba has the signature before the path: `/<minute>/<MD5>/…` in form B, `/<MD5>/<instant>/…` in form C.
        if let signature = link.firstMatch(of: #/^https?://[^/]+/(?:\d{12}/)?([0-9a-f]{32})//#) {
            keep(signature.output.1)
        }
        for pair in link.drop(while: { $0 != "?" }).dropFirst().split(separator: "&") {
            let parts = pair.split(separator: "=", maxSplits: 1)
            if parts.count == 2 { take(String(parts[1]), as: String(parts[0])) }
        }
    }

    private static func isSecret(_ name: String) -> Bool {
        let endings = ["signature", "policy", "security-token"]
        let names = ["secretaccesskey", "accesskeysecret", "sessiontoken", "securitytoken", "token", "auth_key", "md5"]
        return endings.contains { name.hasSuffix($0) } || names.contains(name)
    }

    private mutating func keep(_ text: Substring) {
        // A shorter one could stand anywhere by chance.
        if text.utf8.count >= 16 { texts.insert(String(text)) }
    }
}
