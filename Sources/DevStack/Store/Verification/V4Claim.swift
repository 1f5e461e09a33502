import Signing

/// What a version 4 signer wrote into a request, read strictly.
struct V4Claim: Sendable {
    let accessKeyID: String
    /// Day, region, service and terminator.
    let scope: [String]
    let date: SigningInstant
    /// First instant at which the signature no longer counts.
    let end: SigningInstant
    /// Names of the headers that are listed beside the signature, sorted.
    let headerNames: [String]
    let token: String?
    let signature: String
    let isPresigned: Bool

    /// The longest life of a URL, in seconds.
    static let longestLife = 604_800

    /// Reads the parameters of a presigned URL.
    ///
    /// - Throws: ``StoreError/badParameters(_:)``.
    init(query request: StoreRequest, rules: V4Rules) throws(StoreError) {
        func value(_ name: String) throws(StoreError) -> String {
            guard let value = try request.parameter(name) else { throw .badParameters("The query lacks \(name).") }
            return value
        }
        guard try value(rules.names.algorithm) == rules.algorithm else {
            throw .badParameters("The algorithm is not \(rules.algorithm).")
        }
        guard let date = SigningInstant(basic: try value(rules.names.date)) else {
            throw .badParameters("\(rules.names.date) must be in the form YYYYMMDD'T'HHMMSS'Z'.")
        }
        let life = try value(rules.names.expires)
        guard life.utf8.allSatisfy({ 0x30...0x39 ~= $0 }), let seconds = Int(life), 1...Self.longestLife ~= seconds,
            let end = date.advanced(bySeconds: seconds)
        else { throw .badParameters("\(rules.names.expires) must be 1 to \(Self.longestLife) seconds.") }
        let list = try rules.isOSS ? request.parameter(rules.names.headers) : value(rules.names.headers)
        guard let names = Self.names(list, rules) else {
            throw .badParameters("\(rules.names.headers) is not a list of header names that holds 'host'.")
        }
        guard let (id, scope) = Self.credential(try value(rules.names.credential)) else {
            throw .badParameters("The credential does not have five parts.")
        }
        accessKeyID = id
        self.scope = scope
        self.date = date
        self.end = end
        headerNames = names
        let inHeader = request.headers[rules.headerPrefix + "security-token"]
        token = try request.parameter(rules.names.token) ?? inHeader
        signature = try value(rules.names.signature)
        isPresigned = true
    }

    /// Reads the `Authorization` header.
    ///
    /// - Throws: ``StoreError/malformedHeader(_:details:)``.
    init(header request: StoreRequest, rules: V4Rules) throws(StoreError) {
        var fields: [String: String] = [:]
        let value = (request.headers["authorization"] ?? "").dropFirst(rules.algorithm.count + 1)
        for part in value.split(separator: ",", omittingEmptySubsequences: false) {
            let sides = part.drop { $0 == " " }.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard sides.count == 2, fields.updateValue(String(sides[1]), forKey: String(sides[0])) == nil else {
                throw .malformedHeader("a part is not 'Name=value', or is repeated.")
            }
        }
        let listName = rules.isOSS ? "AdditionalHeaders" : "SignedHeaders"
        let known: Set<String> = ["Credential", "Signature", listName]
        guard known.isSuperset(of: fields.keys), let signature = fields["Signature"] else {
            throw .malformedHeader("it does not have exactly Credential, \(listName) and Signature.")
        }
        guard let (id, scope) = Self.credential(fields["Credential"] ?? "") else {
            throw .malformedHeader("the Credential does not have five parts.")
        }
        guard let names = Self.names(fields[listName], rules) else {
            throw .malformedHeader("\(listName) is not a list of header names that holds 'host'.")
        }
        guard let date = request.headers[rules.headerPrefix + "date"].flatMap(SigningInstant.init(basic:)),
            let end = date.advanced(bySeconds: StoreVerifier.clockTolerance + 1)
        else { throw .accessDenied("AWS authentication requires a valid Date or x-amz-date header") }
        accessKeyID = id
        self.scope = scope
        self.date = date
        self.end = end
        headerNames = names
        token = request.headers[rules.headerPrefix + "security-token"]
        self.signature = signature
        isPresigned = false
    }

    /// Splits a credential into the access key id and the scope.
    static func credential(_ text: String) -> (id: String, scope: [String])? {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
        guard parts.count == 5, !parts[0].isEmpty else { return nil }
        return (parts[0], Array(parts.dropFirst()))
    }

    /// Reads a list of header names: in lower case, each once. AWS requires `host`; OSS lists only what it does not
    /// sign anyway, and may list nothing.
    private static func names(_ list: String?, _ rules: V4Rules) -> [String]? {
        guard let list else { return rules.isOSS ? [] : nil }
        let names = list.split(separator: ";", omittingEmptySubsequences: false).map(String.init)
        guard names.allSatisfy({ !$0.isEmpty && $0 == $0.lowercased() }), Set(names).count == names.count else {
            return nil
        }
        if rules.isOSS {
            let always = names.contains {
                $0 == "content-type" || $0 == "content-md5" || $0.hasPrefix(rules.headerPrefix)
            }
            guard !always else { return nil }
        } else {
            guard names.contains("host") else { return nil }
        }
        return names.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
    }
}
