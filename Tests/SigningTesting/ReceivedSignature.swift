@testable import Signing

/// What a "version 4" signer wrote into a request, parsed strictly.
struct ReceivedSignature {
    let credential: String
    let date: SigningInstant
    /// First instant at which the signature is no longer valid.
    let expiresAt: SigningInstant
    /// The names of the headers that are listed beside the signature.
    let headerNames: [String]
    let securityToken: String?
    let signature: String
    /// Parameters of the query that the signer did not write.
    let others: [NamedValue]

    /// Reads the parameters of a presigned URL.
    ///
    /// - Throws: ``VerificationError/malformed(_:)``.
    init(query: [NamedValue], dialect: V4Dialect) throws(VerificationError) {
        let names = dialect.parameters
        var parameters = Fields()
        var others: [NamedValue] = []
        for pair in query {
            if names.contain(pair.name) {
                try parameters.add(pair.name, pair.value)
            } else {
                others.append(pair)
            }
        }
        self.others = others
        guard try parameters.take(names.algorithm) == dialect.algorithm else {
            throw .malformed("the algorithm is not \(dialect.algorithm)")
        }
        credential = try parameters.take(names.credential)
        date = try Self.instant(parameters.take(names.date))
        guard let end = date.advanced(bySeconds: try Self.life(parameters.take(names.expires))) else {
            throw .malformed("the life ends after the year 9999")
        }
        expiresAt = end
        headerNames = try Self.headerNames(parameters.takeOptional(names.headerNames), dialect: dialect)
        signature = try parameters.take(names.signature)
        securityToken = names.securityToken.flatMap { parameters.takeOptional($0) }
        guard parameters.isEmpty else { throw .malformed("a parameter of the signature is in another case") }
    }

    /// Reads the `Authorization` header and the headers that belong to it.
    ///
    /// - Parameters:
    ///   - headers: Headers of the request, names in lower case.
    ///   - query: The request's query.
    ///   - dialect: The scheme's names and rules.
    ///   - toleranceSeconds: How long after its date the signature is valid.
    /// - Throws: ``VerificationError/malformed(_:)``.
    init(
        headers: [String: String], query: [NamedValue], dialect: V4Dialect, toleranceSeconds: Int
    ) throws(VerificationError) {
        guard let value = headers["authorization"] else { throw .malformed("authorization is absent") }
        let start = "\(dialect.algorithm) "
        guard value.hasPrefix(start) else { throw .malformed("the algorithm is not \(dialect.algorithm)") }
        var parts = Fields()
        for part in value.dropFirst(start.count).split(separator: ",", omittingEmptySubsequences: false) {
            let trimmed = part.drop { $0 == " " }
            let sides = trimmed.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard sides.count == 2 else { throw .malformed("a part of the authorization is no name=value") }
            try parts.add(String(sides[0]), String(sides[1]))
        }
        guard !query.contains(where: { dialect.parameters.contain($0.name) }) else {
            throw .malformed("there is a signature in the query as well")
        }
        others = query
        credential = try parts.take("Credential")
        signature = try parts.take("Signature")
        headerNames = try Self.headerNames(
            parts.takeOptional(dialect.vendor == .alibaba ? "AdditionalHeaders" : "SignedHeaders"), dialect: dialect
        )
        guard parts.isEmpty else { throw .malformed("the authorization has an unknown part") }
        date = try Self.instant(headers["\(dialect.headerPrefix)date"] ?? "")
        guard let end = date.advanced(bySeconds: toleranceSeconds) else {
            throw .malformed("the life ends after the year 9999")
        }
        expiresAt = end
        securityToken = headers["\(dialect.headerPrefix)security-token"]
    }

    private static func instant(_ text: String) throws(VerificationError) -> SigningInstant {
        guard let instant = SigningInstant(basic: text) else { throw .malformed("the date is not YYYYMMDDTHHMMSSZ") }
        return instant
    }

    private static func life(_ text: String) throws(VerificationError) -> Int {
        guard text.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let seconds = Int(text),
            V4Dialect.expiryRange.contains(seconds)
        else { throw .malformed("the life is not a number of seconds up to \(V4Dialect.expiryRange.upperBound)") }
        return seconds
    }

    private static func headerNames(_ list: String?, dialect: V4Dialect) throws(VerificationError) -> [String] {
        guard let list else {
            guard !dialect.bindsHost else { throw .malformed("the names of signed headers are absent") }
            return []
        }
        let names = list.split(separator: ";", omittingEmptySubsequences: false).map(String.init)
        let namedRightly = names.allSatisfy { name in
            (try? HeaderName.lowerCased(name)) == name && dialect.headerForm.lists(name)
        }
        let ascending = zip(names, names.dropFirst()).allSatisfy { $0.utf8.lexicographicallyPrecedes($1.utf8) }
        guard namedRightly, ascending else {
            throw .malformed("the signed headers are not distinct names in lower case, sorted")
        }
        guard !dialect.bindsHost || names.contains("host") else {
            throw .malformed("host is not among the signed headers")
        }
        return names
    }
}

/// Named values. Each is added once and taken once.
private struct Fields {
    private var values: [String: String] = [:]

    var isEmpty: Bool { values.isEmpty }

    mutating func add(_ name: String, _ value: String) throws(VerificationError) {
        guard values.updateValue(value, forKey: name) == nil else { throw .malformed("\(name) is given twice") }
    }

    mutating func take(_ name: String) throws(VerificationError) -> String {
        guard let value = takeOptional(name) else { throw .malformed("\(name) is absent") }
        return value
    }

    mutating func takeOptional(_ name: String) -> String? {
        values.removeValue(forKey: name)
    }
}
