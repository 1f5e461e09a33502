import HTTPServing
import HTTPTypes
import Signing

/// The headers of a verified request, with the `x-amz-` parameters that a version 4 signer put into the query instead
/// and that mean the same.
struct RequestFields: Sendable {
    let pairs: [NamedValue]
    let dialect: StoreDialect

    /// Collects the fields of a request.
    ///
    /// - Parameter scheme: The scheme that signed the request; only ``StoreScheme/awsV4`` moves headers into the query.
    init(_ request: StoreRequest, signedBy scheme: StoreScheme) {
        dialect = scheme.dialect
        var pairs = request.headers.map { NamedValue($0.key, $0.value) }
        if scheme == .awsV4 {
            pairs += request.query.map { NamedValue($0.name.lowercased(), $0.value) }
                .filter { $0.name.hasPrefix("x-amz-") && request.headers[$0.name] == nil }
                .filter { !Self.signers.contains($0.name) }
        }
        self.pairs = pairs.sorted { $0.name < $1.name }
    }

    /// Wraps the fields of a form, names in lower case.
    init(form: [String: String], dialect: StoreDialect) {
        pairs = form.map { NamedValue($0.key, $0.value) }.sorted { $0.name < $1.name }
        self.dialect = dialect
    }

    /// Parameters of the signature itself.
    private static let signers: Set<String> = [
        "x-amz-algorithm", "x-amz-credential", "x-amz-expires", "x-amz-signedheaders", "x-amz-signature",
    ]

    /// The value of a header, by its lower-case name.
    subscript(_ name: String) -> String? {
        pairs.first { $0.name == name }?.value
    }

    /// The value of a header of the vendor: `x-amz-…` or `x-oss-…`.
    subscript(vendor name: String) -> String? {
        self[dialect.headerPrefix + name]
    }

    /// Refuses headers of either vendor except the named ones, so that no header appears to have an effect.
    ///
    /// - Parameter known: Names without the vendor's prefix; a name that ends with `-` is the beginning of names.
    func refuseVendorHeaders(except known: Set<String>) throws(StoreError) {
        for pair in pairs where pair.name.hasPrefix("x-amz-") || pair.name.hasPrefix("x-oss-") {
            let name = pair.name.dropFirst(dialect.headerPrefix.utf8.count)
            let isKnown =
                pair.name.hasPrefix(dialect.headerPrefix)
                && known.contains { $0.hasSuffix("-") ? name.hasPrefix($0) : name == $0 }
            guard isKnown else { throw .notImplemented("This store does not know the header \(pair.name).") }
        }
    }
}

extension HeaderFields {
    /// Sets a header by its name; does nothing if the name is not a valid token.
    mutating func set(_ name: String, to value: String?) {
        guard let name = HTTPField.Name(name) else { return }
        self[name] = value
    }
}
