import Bytes
import LibCrypto

extension ReceivedCanonicalRequest {
    /// The bucket and the key for which a "version 4" signature is requested.
    public struct Signer: Sendable {
        /// Where the bucket is.
        public let address: BucketAddress
        /// Region and service of the bucket.
        public let scope: CredentialScope
        /// Access key that would sign.
        public let accessKeyID: String

        /// Describes a signer.
        public init(address: BucketAddress, scope: CredentialScope, accessKeyID: String) {
            self.address = address
            self.scope = scope
            self.accessKeyID = accessKeyID
        }
    }

    /// Compares the request with its string to sign, and applies all rules that do not depend on grants.
    ///
    /// - Parameters:
    ///   - stringToSign: Algorithm, date, scope and hash, one per line.
    ///   - signer: Whose signature is requested.
    ///   - rules: The rules to apply.
    /// - Throws: ``StringToSignRefusal``.
    public func permitted(
        stringToSign: String, by signer: Signer, _ rules: StringRules
    ) throws(StringToSignRefusal) -> PermittedString {
        let (date, scope) = try check(stringToSign, signer: signer)
        let vendor = dialect.vendor
        let key = try objectKey(at: signer.address)
        let own = dialect.parameters
        guard !query.contains(where: { own.contain($0.name) && !ownNames.contains($0.name) }) else {
            throw .invalidSubResources
        }
        let isInQuery = query.contains { $0.name == own.algorithm }
        let (use, validUntil) =
            isInQuery
            ? try checkQuery(date: date, credential: "\(signer.accessKeyID)/\(scope)", rules)
            : try checkHeaders(date: date, rules)
        var parameters = query.filter { !ownNames.contains($0.name) }
        if vendor == .alibaba { parameters = rules.withoutCallback(parameters, prefix: "", method: method) }
        let operation = try OperationParameters(
            method: method, parameters: parameters, vendor: vendor,
            listing: ["encoding-type", "max-parts", "part-number-marker"], isOfBucket: key.isEmpty)
        let bound = try checkedHeaders(signer: signer, rules)
        guard bound.contentType != nil || !operation.operation.beginsObject else { throw .contentTypeNeeded }
        return PermittedString(
            permission: StringPermission(
                operation: operation.operation,
                bucket: signer.address.bucket,
                key: key,
                uploadID: operation.uploadID,
                partNumber: operation.partNumber,
                contentType: bound.contentType,
                contentMD5: bound.contentMD5,
                contentLength: bound.contentLength,
                use: use,
                validUntil: validUntil,
                headers: bound.others,
                query: parameters
            ),
            text: "\(dialect.algorithm)\n\(date.basic)\n\(scope)\n\(hash)",
            scheme: .version4(vendor, scope: scope, headerNames: headerNames.joined(separator: ";"))
        )
    }

    private var hash: String {
        DigestAlgorithm.sha256.digest(of: text).hex
    }

    private var ownNames: [String] {
        let own = dialect.parameters
        return [own.algorithm, own.credential, own.date, own.expires, own.headerNames]
            + (own.securityToken.map { [$0] } ?? [])
    }

    private func value(_ name: String) -> String? {
        query.first { $0.name == name }?.value
    }

    private func header(_ name: String) -> String? {
        headers.first { $0.name == name }?.value
    }

    /// Checks the four lines of the string to sign, and returns its date and scope.
    private func check(
        _ stringToSign: String, signer: Signer
    ) throws(StringToSignRefusal) -> (date: SigningInstant, scope: String) {
        guard stringToSign.utf8.count <= ReceivedStringToSign.maxByteCount else { throw .tooLong }
        let lines = stringToSign.utf8.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
            .map { String(Substring($0)) }
        guard lines.count == 4, lines[0].isSameBytes(as: dialect.algorithm),
            signer.scope.dialect === dialect, let date = SigningInstant(basic: lines[1])
        else { throw .invalidStringToSign }
        let scope = "\(date.day)/\(signer.scope.region)/\(signer.scope.service)/\(dialect.terminator)"
        guard lines[2].isSameBytes(as: scope) else { throw .wrongScope }
        guard lines[3].isSameBytes(as: hash) else { throw .hashMismatch }
        return (date, scope)
    }

    /// The key that the path names in the bucket; empty where a listing names the bucket alone.
    private func objectKey(at address: BucketAddress) throws(StringToSignRefusal) -> String {
        let bucketPath: String
        if dialect.vendor == .alibaba {
            bucketPath = "/\(address.bucket)/"
        } else {
            guard let base = PercentEncoding.decode(address.path.utf8, plusIsSpace: false) else { throw .invalidPath }
            bucketPath = String(decoding: base, as: UTF8.self) + "/"
        }
        if isListing, path.utf8.elementsEqual(bucketPath.utf8.dropLast()) { return "" }
        guard path.utf8.starts(with: bucketPath.utf8) else {
            throw path.isSameBytes(as: "/") ? .serviceResource : .invalidPath
        }
        let key = String(Substring(path.utf8.dropFirst(bucketPath.utf8.count)))
        guard !key.isEmpty else {
            guard isListing else { throw .bucketResource }
            return key
        }
        guard KeySyntax.flaw(inKey: key) == nil else { throw .invalidKey }
        return key
    }

    private func checkQuery(
        date: SigningInstant, credential: String, _ rules: StringRules
    ) throws(StringToSignRefusal) -> (StringPermission.Use, SigningInstant) {
        let own = dialect.parameters
        guard value(own.algorithm) == dialect.algorithm, value(own.date) == date.basic,
            header("\(dialect.headerPrefix)date") == nil
        else { throw .datesDiffer }
        guard value(own.credential)?.isSameBytes(as: credential) == true else { throw .wrongScope }
        let names = headerNames.joined(separator: ";")
        guard value(own.headerNames) == (names.isEmpty ? nil : names) else { throw .invalidCanonicalRequest }
        guard let text = value(own.expires), let seconds = Int(text), "\(seconds)".isSameBytes(as: text),
            V4Dialect.expiryRange.contains(seconds), let expiry = date.advanced(bySeconds: seconds)
        else { throw .invalidDate }
        // The expiry check bounds a later beginning too, but stores refuse one beyond the tolerance.
        guard date.epochSeconds <= rules.now.epochSeconds + Int64(StringRules.dateToleranceSeconds) else {
            throw .dateOutsideWindow
        }
        try rules.check(expiry: expiry)
        guard header("\(dialect.headerPrefix)security-token") == nil else { throw .securityToken }
        try rules.check(securityToken: own.securityToken.flatMap(value))
        return (.presignedURL(expiresAt: expiry), expiry)
    }

    private func checkHeaders(
        date: SigningInstant, _ rules: StringRules
    ) throws(StringToSignRefusal) -> (StringPermission.Use, SigningInstant) {
        guard !query.contains(where: { ownNames.contains($0.name) }) else { throw .invalidSubResources }
        guard header("\(dialect.headerPrefix)date") == date.basic else { throw .datesDiffer }
        guard header(dialect.headerForm.payloadHeader) != nil else { throw .invalidCanonicalRequest }
        try rules.check(securityToken: header("\(dialect.headerPrefix)security-token"))
        return (.header(date), try rules.check(date: date))
    }

    private struct BoundValues {
        var contentType: String?
        var contentMD5: String?
        var contentLength: Int64?
        var others: [NamedValue] = []
    }

    private func checkedHeaders(
        signer: Signer, _ rules: StringRules
    ) throws(StringToSignRefusal) -> BoundValues {
        guard payload == PayloadHash.unsigned.text || PayloadHash(hex: payload) != nil,
            header(dialect.headerForm.payloadHeader) ?? PayloadHash.unsigned.text == payload
        else { throw .invalidCanonicalRequest }
        guard !dialect.bindsHost || header("host") != nil else { throw .wrongHost }
        let own = ["date", "security-token", "content-sha256"].map { dialect.headerPrefix + $0 }
        var bound = BoundValues()
        let headers =
            dialect.vendor == .alibaba
            ? rules.withoutCallback(self.headers, prefix: dialect.headerPrefix, method: method) : self.headers
        for header in headers where !own.contains(header.name) {
            switch header.name {
            case "host":
                guard header.value.isSameBytes(as: signer.address.authority) else { throw .wrongHost }
            case "content-type":
                guard ReceivedStringToSign.isContentType(header.value) else { throw .invalidContentType }
                bound.contentType = header.value
            case "content-md5":
                guard Base64.decode(header.value)?.count == 16 else { throw .invalidContentMD5 }
                bound.contentMD5 = header.value
            case "content-length":
                guard let length = Int64(header.value), length >= 0, "\(length)".isSameBytes(as: header.value)
                else { throw .valueNotAllowed }
                bound.contentLength = length
            case let name where name.utf8.starts(with: dialect.headerPrefix.utf8):
                try HeaderRules(dialect.vendor, rules).check(header)
                bound.others.append(header)
            case let name where Self.harmless.contains(name):
                bound.others.append(header)
            default:
                throw .headerNotAllowed
            }
        }
        return bound
    }

    /// HTTP headers that say how an object is stored or read, but not which object.
    private static let harmless: Set<String> = [
        "accept", "accept-encoding", "cache-control", "content-disposition", "content-encoding", "content-language",
        "date",
        "expires", "if-match", "if-modified-since", "if-none-match", "if-unmodified-since", "range", "user-agent",
    ]
}
