/// The texts of an answer by which whoever holds them can do something: signatures, policies that are signed, temporary
/// credentials, API keys and tickets.
///
/// Names of keys, URLs without a query and public keys are none.
struct IssuedSecrets {
    private(set) var texts: Set<String> = []

    /// Takes them from the body of an answer, and from the link to which it redirects.
    init(_ body: JSON, location: String? = nil) {
        if let location { take(linkedBy: location) }
        visit(body, "")
    }

    private mutating func visit(_ json: JSON, _ name: String) {
        switch json {
        case .string(let text): take(text, as: name.lowercased())
        case .array(let items): for item in items { visit(item, name) }
        case .object(let members): for (name, value) in members { visit(value, name) }
        case .null, .bool, .number: break
        }
    }

    private mutating func take(_ text: String, as name: String) {
        switch name {
        case "url", "uri": take(linkedBy: text)
        // `… Signature=…` or `OSS id:…`
        case "authorization": keep(text.split { $0 == "=" || $0 == ":" }.last ?? "")
        default:
            // Keys and tickets, `sluice_…` and `sluicet_…`, end with their secret part.
            let parts = text.split(separator: "_", maxSplits: 2)
            if Self.isSecret(name) {
                keep(text[...])
            } else if parts.count == 3, parts[0].hasPrefix("sluice"), parts[1].utf8.count == 12 {
                keep(parts[2])
            }
        }
    }

    private mutating func take(linkedBy link: String) {
        for pair in link.drop(while: { $0 != "?" }).dropFirst().split(separator: "&") {
            let parts = pair.split(separator: "=", maxSplits: 1)
            if parts.count == 2 { take(String(parts[1]), as: parts[0].lowercased()) }
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
