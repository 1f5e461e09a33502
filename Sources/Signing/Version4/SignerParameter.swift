import Bytes

/// A parameter that a "version 4" signer writes into a URL, as far as it is the same in all URLs of a day.
struct SignerParameter: Sendable {
    /// The part of the value that changes.
    enum Rest: Sendable {
        case nothing
        /// The time of day.
        case time
        /// The life in seconds.
        case life
        /// The names of the bound headers. Without names the parameter is left out.
        case headerNames
    }

    /// The name, which needs no encoding.
    let name: String
    /// `name=` or the bare name, followed by the constant part of the value, percent-encoded.
    let text: [UInt8]
    let rest: Rest

    private init(_ name: String, _ value: String = "", isBare: Bool = false, rest: Rest = .nothing) {
        self.name = name
        text =
            Array((isBare ? name : "\(name)=").utf8)
            + PercentEncoding.encode(value, keeping: .unreserved)
        self.rest = rest
    }

    /// All parameters of a key except the signature, in the order in which they are signed.
    static func all(of dialect: V4Dialect, credential: String, day: String, token: String?) -> [SignerParameter] {
        let names = dialect.parameters
        var parameters = [
            SignerParameter(names.algorithm, dialect.algorithm),
            SignerParameter(names.credential, credential),
            SignerParameter(names.date, "\(day)T", rest: .time),
            SignerParameter(names.expires, rest: .life),
            SignerParameter(names.headerNames, rest: .headerNames),
        ]
        if let name = names.securityToken, let token {
            parameters.append(SignerParameter(name, token, isBare: token.isEmpty && dialect.writesBareNames))
        }
        return parameters.sorted { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
    }
}
