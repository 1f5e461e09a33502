/// The parameters that a "version 4" signer wrote into a URL, read back strictly.
struct PresignedParameters {
    let credential: String
    let date: SigningInstant
    let expiresInSeconds: Int
    let signedHeaders: [String]
    let securityToken: String?
    let signature: String
    /// The rest of the query.
    let others: [NamedValue]

    /// Reads the parameters.
    ///
    /// - Throws: ``VerificationError/malformed(_:)``.
    init(_ query: [NamedValue], dialect: V4Dialect) throws(VerificationError) {
        var own: [String: String] = [:]
        var others: [NamedValue] = []
        for pair in query {
            guard dialect.parameters.contain(pair.name) else {
                others.append(pair)
                continue
            }
            guard own.updateValue(pair.value, forKey: pair.name) == nil else {
                throw .malformed("\(pair.name) is given twice")
            }
        }
        self.others = others
        let names = dialect.parameters
        func value(_ name: String) throws(VerificationError) -> String {
            guard let value = own.removeValue(forKey: name) else { throw .malformed("\(name) is absent") }
            return value
        }
        guard try value(names.algorithm) == dialect.algorithm else {
            throw .malformed("the algorithm is not \(dialect.algorithm)")
        }
        credential = try value(names.credential)
        guard let date = SigningInstant(basic: try value(names.date)) else {
            throw .malformed("the date is not YYYYMMDDTHHMMSSZ")
        }
        self.date = date
        let seconds = try value(names.expires)
        guard seconds.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let number = Int(seconds),
            V4Dialect.expiryRange.contains(number)
        else { throw .malformed("the life is not a number of seconds up to \(V4Dialect.expiryRange.upperBound)") }
        expiresInSeconds = number
        signedHeaders = try Self.headerNames(value(names.headerNames))
        signature = try value(names.signature)
        securityToken = names.securityToken.flatMap { own.removeValue(forKey: $0) }
        guard own.isEmpty else { throw .malformed("a parameter of the signature is in another case") }
    }

    private static func headerNames(_ list: String) throws(VerificationError) -> [String] {
        let names = list.split(separator: ";", omittingEmptySubsequences: false).map(String.init)
        let lowerCased = names.allSatisfy { name in
            guard let bytes = try? CanonicalHeaders.lowerCased(name) else { return false }
            return bytes.elementsEqual(name.utf8)
        }
        let ascending = zip(names, names.dropFirst()).allSatisfy { $0.utf8.lexicographicallyPrecedes($1.utf8) }
        guard lowerCased, ascending else {
            throw .malformed("the signed headers are not distinct names in lower case, sorted")
        }
        guard names.contains("host") else { throw .malformed("host is not among the signed headers") }
        return names
    }
}
