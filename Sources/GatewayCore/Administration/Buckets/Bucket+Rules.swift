import Bytes
import FoundationEssentials
import Signing
import StrictJSON

extension Bucket: ValidatedRow {
    /// Maximum length of a callback's base64 text. Stores accept no URL above 8 KiB.
    static let maxCallbackBytes = 2048
    /// What the names of all endpoints of Alibaba OSS end with.
    private static let ossDomain = Array(".aliyuncs.com".utf8)
    /// A day, in seconds.
    private static let day = 86_400
    /// Maximum number of origins of a bucket.
    public static let maxOrigins = 16

    /// Validates a bucket before it is created, and normalizes its endpoint to the stored form `http(s)://host[:port]`.
    ///
    /// - Throws: ``GatewayError/invalidArgument(field:reason:)`` with the field's JSON name.
    public func validated() throws(GatewayError) -> Bucket {
        try require(1...schemeMaxTTL ~= maxTTL, "maxTTL", "The value must be 1 to 604,800 seconds.")
        try require(1...maxTTL ~= defaultTTL, "defaultTTL", "The default must be 1 second to 'maxTTL'.")
        try require(
            maxSessionTTL == 0 || SessionRole.durations.contains(maxSessionTTL), "maxSessionTTL",
            "The value must be 900 to 43,200 seconds, or 0 to forbid sessions."
        )
        try require(
            stableLinkWindow == 0 || 1...Self.day ~= stableLinkWindow && Self.day % stableLinkWindow == 0,
            "stableLinkWindow", "The window must be a number of seconds that divides a day, or 0 for none.")
        try require(
            stableLinkWindow < maxTTL, "stableLinkWindow",
            "No link lives longer than 'maxTTL', so the window must be shorter.")
        try require(
            region.consists(of: .alphanumeric.union("-_"), count: 1...64), "region",
            "The region must be 1 to 64 letters, digits, '-' and '_'.")
        try require(
            provider.schemes.contains(scheme), "scheme",
            "Buckets of '\(provider.rawValue)' must use one of these schemes: \(provider.schemes.map(\.quoted).joined(separator: ", "))."
        )
        try require(
            provider != .oss || !region.utf8.starts(with: "oss-".utf8), "region",
            "The region must not begin with 'oss-': for example, 'cn-hangzhou'."
        )
        try checkOrigins()
        try require(
            !honoursUnsignedHeaders || provider == .s3, "honoursUnsignedHeaders",
            "Only stores of 's3' may obey unsigned headers; those of '\(provider.rawValue)' refuse them.")
        try require(
            !permitsSymlinks || provider == .oss, "permitsSymlinks",
            "Only stores of 'oss' have symbolic links, not those of '\(provider.rawValue)'.")
        try checkCallback()
        try checkEncryption()
        var bucket = self
        bucket.endpoint = try origin(endpoint, addressing, fields: ("endpoint", "addressing"))
        for (name, place) in publicEndpoints {
            let member = "publicEndpoints.\(name.rawValue)"
            bucket.publicEndpoints[name]?.url = try origin(
                place.url, addressing(at: place), fields: (member + ".url", member + ".addressing"))
            if let signing = place.signing { try check(signing, of: name, member + ".signing") }
        }
        return bucket
    }

    private func check(
        _ signing: CDNSigning, of name: PublicEndpoint.Name, _ member: String
    ) throws(GatewayError) {
        try require(name == .cdn, member, "Only the endpoint 'cdn' can have links of its own.")
        for (field, isGiven) in [
            ("hash", signing.hash != nil), ("bindsSourceAddress", signing.bindsSourceAddress != nil),
        ] {
            try require(
                !isGiven || signing.scheme == .cloudFront, "\(member).\(field)",
                "Only links of 'cloudfront' can have this member.")
        }
        let isAlibaba = [.alibabaA, .alibabaB, .alibabaC].contains(signing.scheme)
        try require(
            signing.validity == nil || isAlibaba, member + ".validity",
            "Only links of Alibaba's CDN can have this member.")
        try require(
            1...CDNSigning.maxValidity ~= signing.validity ?? 1, member + ".validity",
            "The value must be 1 to 31,536,000 seconds.")
    }

    private func checkCallback() throws(GatewayError) {
        try require(callbackVar == nil || callback != nil, "callbackVar", "'callbackVar' requires 'callback'.")
        for (field, text) in [("callback", callback), ("callbackVar", callbackVar)] {
            guard let text else { continue }
            try require(provider == .oss, field, "Only Alibaba OSS supports callbacks.")
            let members = try Self.members(text, field)
            try require(
                !members.values.contains(where: EventSecretText.isPart), field,
                "Every uploader could read the event secret. A callback that OSS signs needs none.")
            guard field == "callback" else {
                try require(
                    members.keys.allSatisfy { $0.utf8.starts(with: "x:".utf8) }, field,
                    "The names of variables must begin with 'x:'.")
                continue
            }
            try require(
                members["callbackUrl"]?.isEmpty == false && members["callbackBody"]?.isEmpty == false, field,
                "The JSON must have 'callbackUrl' and 'callbackBody'.")
        }
    }

    private func checkEncryption() throws(GatewayError) {
        guard let encryption else { return }
        guard let words = provider.encryption else {
            throw .invalidArgument(
                field: "encryption",
                reason: "No upload to '\(provider.rawValue)' names its encryption; the bucket's own settings decide.")
        }
        let field = "encryption.algorithm"
        try require(
            words.algorithms.contains(encryption.algorithm), field,
            "Buckets of '\(provider.rawValue)' must use one of these algorithms: \(words.algorithms.map { "'\($0.rawValue)'" }.joined(separator: ", "))."
        )
        try require(
            encrypts(by: scheme), field, "Amazon S3 encrypts with KMS only what is signed by 'aws-v4'.")
        try require(
            encryption.keyID == nil || encryption.algorithm != .aes256, "encryption.keyID",
            "The algorithm 'AES256' has no key of its own.")
        try require(
            encryption.keyID?.consists(of: .visible, count: 1...2048) ?? true, "encryption.keyID",
            "The key must be 1 to 2,048 visible ASCII characters.")
    }

    /// Decodes the base64 JSON object that configures a store's callback, and returns its string members. Every member
    /// that OSS defines is a string, except `callbackSNI`.
    private static func members(_ text: String, _ field: String) throws(GatewayError) -> [String: String] {
        guard 1...maxCallbackBytes ~= text.utf8.count, let bytes = Base64.decode(text), Base64.encode(bytes) == text,
            case .object(let members) = try? JSONReader.read(bytes)
        else {
            throw .invalidArgument(
                field: field,
                reason: "The value must be base64 of one JSON object, at most \(maxCallbackBytes) characters long.")
        }
        return members.reduce(into: [:]) { texts, member in
            if case .string(let text) = member.value { texts[member.name] = text }
        }
    }

    private func checkOrigins() throws(GatewayError) {
        try require(
            allowedOrigins.count <= Self.maxOrigins, "allowedOrigins",
            "At most \(Self.maxOrigins) origins are allowed.")
        for (index, text) in allowedOrigins.enumerated() {
            let origin = try? StoreEndpoint(text)
            // Browsers omit the default port and compare origins byte by byte.
            try require(
                origin.map { $0.path.isEmpty && "\($0.scheme)://\($0.authority)" == text } == true,
                "allowedOrigins[\(index)]",
                "An origin must be 'http(s)://host[:port]' in lower case, as browsers send it.")
        }
        try require(
            Set(allowedOrigins).count == allowedOrigins.count, "allowedOrigins", "The list names an origin twice.")
    }

    /// Checks an address of the bucket and returns it in the stored form.
    private func origin(
        _ text: String, _ addressing: Addressing, fields: (url: String, addressing: String)
    ) throws(GatewayError) -> String {
        let endpoint = try StoreEndpoint(origin: text, fields.url)
        try require(
            provider == .oss || !endpoint.host.utf8.suffix(Self.ossDomain.count).elementsEqual(Self.ossDomain),
            fields.url,
            "Buckets at Alibaba OSS must have the provider 'oss': links to others do not prevent what only OSS does.")
        try require(
            provider != .oss || addressing != .path || endpoint.isAddress, fields.addressing,
            "OSS accepts the bucket in the path only if the endpoint is an IP address; use 'virtual' or 'cname'."
        )
        let isDotted = name.rawValue.utf8.contains(UInt8(ascii: "."))
        try require(
            !(isDotted && addressing == .virtual && endpoint.scheme == "https"), fields.addressing,
            "No certificate covers a bucket name with dots as part of the host; use 'path'."
        )
        let hostBytes = (addressing == .virtual ? name.rawValue.utf8.count + 1 : 0) + endpoint.host.utf8.count
        try require(
            hostBytes <= StoreEndpoint.maxHostBytes, fields.addressing,
            "With the bucket's name, the host would exceed 253 bytes; use 'path'.")
        do throws(SigningError) {
            _ = try BucketAddress(endpoint: endpoint, bucket: name.rawValue, addressing: addressing.forSigning)
        } catch {
            throw .invalidArgument(field: fields.addressing, reason: error.detail)
        }
        return "\(endpoint.scheme)://\(endpoint.authority)"
    }
}

extension Bucket.Provider {
    /// The signing schemes for buckets of this provider. The first is the one to choose unless there is a reason for
    /// another.
    public var schemes: [Bucket.Scheme] {
        switch self {
        case .aws, .s3: [.awsV4, .awsV2]
        case .oss: [.ossV4, .ossV1]
        case .gcs: [.gcsV4RSA, .gcsV4HMAC, .gcsV2RSA]
        }
    }

    /// The region used if none is given; `nil` if a region is required.
    public var defaultRegion: String? { self == .gcs ? "auto" : nil }

    /// Returns the endpoint used if none is given; `nil` if an endpoint is required.
    public func defaultEndpoint(in region: String) -> String? {
        switch self {
        case .aws: AWSPartition.domain(ofRegion: region).map { "https://s3.\(region).\($0)" }
        case .s3: nil
        case .oss: "https://oss-\(region).aliyuncs.com"
        case .gcs: "https://storage.googleapis.com"
        }
    }

    /// The addressing mode used if none is given.
    public var defaultAddressing: Bucket.Addressing { self == .gcs ? .path : .virtual }
}

extension Bucket.Scheme {
    fileprivate var quoted: String { "'\(rawValue)'" }
}
