import LibCrypto
import Signing

/// Recomputes version 4 signatures from a received request.
struct V4Signature {
    let rules: V4Rules

    /// Returns the signature that a request with this claim should have, in hexadecimal.
    ///
    /// - Parameters:
    ///   - payload: The last line of the canonical request.
    ///   - secret: The secret of the claimed access key.
    /// - Throws: ``StoreError`` if a listed header is absent, or a header of the vendor is not listed.
    func expected(
        for request: StoreRequest, _ claim: V4Claim, payload: String, secret: String
    ) throws(StoreError) -> String {
        let lines = [
            request.method, path(of: request), query(of: request), try headers(of: request, claim),
            claim.headerNames.joined(separator: ";"), payload,
        ]
        let hash = DigestAlgorithm.sha256.digest(of: lines.joined(separator: "\n")).hex
        let text = [rules.algorithm, claim.date.basic, claim.scope.joined(separator: "/"), hash]
        return expected(for: text.joined(separator: "\n"), on: claim.date, secret: secret)
    }

    /// Returns the signature of a text, which is the string to sign of a request or the policy of a form.
    func expected(for text: String, on date: SigningInstant, secret: String) -> String {
        signingKey(on: date, secret: secret).authenticationCode(for: Array(text.utf8)).hex
    }

    /// Returns what the signatures of the chunks of a verified request begin with.
    func chunkSeed(_ claim: V4Claim, secret: String) -> ChunkSeed {
        ChunkSeed(
            key: signingKey(on: claim.date, secret: secret), date: claim.date.basic,
            scope: claim.scope.joined(separator: "/"), signature: claim.signature)
    }

    private func signingKey(on date: SigningInstant, secret: String) -> HMACKey {
        var key = Array((rules.keyPrefix + secret).utf8)
        for step in [date.day, rules.region, rules.service, rules.terminator] {
            key = HMACKey(key, algorithm: .sha256).authenticationCode(for: Array(step.utf8)).bytes
        }
        return HMACKey(key, algorithm: .sha256)
    }

    private func path(of request: StoreRequest) -> String {
        guard rules.isOSS else { return PercentText.encode(request.path, keepingSlashes: true) }
        guard let bucket = request.place.bucket else { return "/" }
        return PercentText.encode("/\(bucket)/\(request.place.key)".utf8, keepingSlashes: true)
    }

    private func query(of request: StoreRequest) -> String {
        request.query.filter { $0.name != rules.names.signature }
            .map { (PercentText.encode($0.name.utf8), PercentText.encode($0.value.utf8)) }
            .sorted { ($0.0, $0.1) < ($1.0, $1.1) }
            .map { $1.isEmpty && !rules.keepsEquals ? $0 : "\($0)=\($1)" }
            .joined(separator: "&")
    }

    /// The lines of the headers that are signed, each with a line feed.
    private func headers(of request: StoreRequest, _ claim: V4Claim) throws(StoreError) -> String {
        var names = Set(claim.headerNames)
        for name in request.headers.keys.sorted() where !names.contains(name) {
            if rules.isOSS {
                let isAlwaysSigned =
                    name == "content-type" || name == "content-md5" || name.hasPrefix(rules.headerPrefix)
                if isAlwaysSigned { names.insert(name) }
            } else if name.hasPrefix(rules.headerPrefix) {
                throw .accessDenied(
                    "There were headers present in the request which were not signed",
                    details: [["HeadersNotSigned", name]])
            }
        }
        var lines = ""
        for name in names.sorted(by: { $0.utf8.lexicographicallyPrecedes($1.utf8) }) {
            guard let value = request.headers[name] else { throw .signatureMismatch }
            lines += "\(name):\(rules.isOSS ? Self.trimmed(value) : Self.collapsed(value))\n"
        }
        return lines
    }

    private static func trimmed(_ value: String) -> String {
        let isSpace: (UInt8) -> Bool = { $0 == 0x20 || $0 == 0x09 }
        let start = value.utf8.drop(while: isSpace)
        return String(Substring(start.prefix(start.count - start.reversed().prefix(while: isSpace).count)))
    }

    /// Trims a value and replaces each run of spaces by one.
    private static func collapsed(_ value: String) -> String {
        value.utf8.split { $0 == 0x20 || $0 == 0x09 }.map { String(Substring($0)) }.joined(separator: " ")
    }
}
