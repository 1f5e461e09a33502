import FoundationEssentials
import GatewayCore
import StrictJSON

extension Bucket: AdminResource {
    static var filters: [ListFilter] {
        [.word("provider", Provider.self), .uuid("credentialID"), .word("scheme", Scheme.self)]
    }
    static var collectionPath: String { "/admin/v1/buckets" }
    static var ownMembers: Set<String> { ["createdAt"] }
    static var lastingMembers: Set<String> { ["name"] }

    init(_ body: inout JSONObject, as new: NewRow) throws(GatewayError) {
        let maxTTL = Int(try body.integer("maxTTL") ?? 604_800)
        let provider = try body.word("provider", Provider.self) ?? .s3
        let region = try body.required("region", body.string("region") ?? provider.defaultRegion)
        self.init(
            name: try body.required(
                "name", body.parsed("name") { (text) throws(GatewayError) in try BucketName(text) }),
            provider: provider,
            endpoint: try body.required("endpoint", body.string("endpoint") ?? provider.defaultEndpoint(in: region)),
            region: region,
            addressing: try body.word("addressing", Addressing.self) ?? provider.defaultAddressing,
            scheme: try body.word("scheme", Scheme.self) ?? provider.schemes[0],
            credentialID: try body.required("credentialID", body.uuid("credentialID")),
            defaultTTL: try body.integer("defaultTTL").map { Int($0) } ?? min(900, maxTTL),
            maxTTL: maxTTL,
            allowsUnenforcedSize: try body.bool("allowsUnenforcedSize") ?? false,
            allowsRedirects: try body.bool("allowsRedirects") ?? false,
            externalDeletions: try body.bool("externalDeletions") ?? false,
            honoursUnsignedHeaders: try body.bool("honoursUnsignedHeaders") ?? false,
            permitsSymlinks: try body.bool("permitsSymlinks") ?? false,
            callback: try body.string("callback"), callbackVar: try body.string("callbackVar"),
            encryption: try body.encryption(),
            allowedOrigins: try body.strings("allowedOrigins", atMost: Self.maxOrigins) ?? [],
            maxSessionTTL: try body.integer("maxSessionTTL").map { Int(clamping: $0) }
                ?? SessionRole.durations.upperBound,
            protocols: try body.words("protocols", ClientProtocol.self),
            publicEndpoints: try body.publicEndpoints(),
            stableLinkWindow: try body.integer("stableLinkWindow").map { Int(clamping: $0) } ?? 0,
            createdAt: new.now
        )
    }

    mutating func keep(_ old: Bucket) {
        createdAt = old.createdAt
    }

    func write(to json: inout JSONWriter) {
        json.member("name", name.rawValue)
        json.member("provider", provider.rawValue)
        json.member("endpoint", endpoint)
        json.member("region", region)
        json.member("addressing", addressing.rawValue)
        json.member("scheme", scheme.rawValue)
        json.member("credentialID", credentialID)
        json.member("defaultTTL", defaultTTL)
        json.member("maxTTL", maxTTL)
        json.member("allowsUnenforcedSize", allowsUnenforcedSize)
        json.member("allowsRedirects", allowsRedirects)
        json.member("externalDeletions", externalDeletions)
        json.member("honoursUnsignedHeaders", honoursUnsignedHeaders)
        json.member("permitsSymlinks", permitsSymlinks)
        json.member("callback", callback)
        json.member("callbackVar", callbackVar)
        if let encryption {
            json.object("encryption") { json in
                json.member("algorithm", encryption.algorithm.rawValue)
                json.member("keyID", encryption.keyID)
            }
        }
        json.member("allowedOrigins", allowedOrigins)
        json.member("maxSessionTTL", maxSessionTTL)
        json.member("protocols", protocols.map(\.rawValue).sorted())
        writePublicEndpoints(to: &json)
        json.member("stableLinkWindow", stableLinkWindow)
        json.member("createdAt", createdAt)
    }

    static func identifier(from segments: [String]) -> String? {
        (try? BucketName(segments[0]))?.rawValue
    }
}

extension Bucket {
    fileprivate func writePublicEndpoints(to json: inout JSONWriter) {
        guard !publicEndpoints.isEmpty else { return }
        json.object("publicEndpoints") { json in
            for name in PublicEndpoint.Name.allCases {
                guard let endpoint = publicEndpoints[name] else { continue }
                json.name(name.rawValue)
                json.object { json in
                    json.member("url", endpoint.url)
                    json.member("addressing", endpoint.addressing?.rawValue)
                    guard let signing = endpoint.signing else { return }
                    json.object("signing") { json in
                        json.member("scheme", signing.scheme.rawValue)
                        json.member("credentialID", signing.credentialID)
                        json.member("hash", signing.hash?.rawValue)
                        if let binds = signing.bindsSourceAddress { json.member("bindsSourceAddress", binds) }
                        if let validity = signing.validity { json.member("validity", validity) }
                        if let drops = signing.dropsParameters { json.member("dropsParameters", drops) }
                    }
                }
            }
        }
    }
}

extension JSONObject {
    /// Reads the member `encryption`; `nil` where it is absent.
    fileprivate mutating func encryption() throws(GatewayError) -> ServerSideEncryption? {
        guard var encryption = try object("encryption") else { return nil }
        let algorithm = try encryption.word("algorithm", ServerSideEncryption.Algorithm.self)
        let result = ServerSideEncryption(
            algorithm: try encryption.required("algorithm", algorithm), keyID: try encryption.string("keyID"))
        try encryption.end()
        return result
    }

    /// Reads the member `publicEndpoints`; empty where it is absent.
    fileprivate mutating func publicEndpoints() throws(GatewayError) -> [PublicEndpoint.Name: PublicEndpoint] {
        guard var body = try object("publicEndpoints") else { return [:] }
        var endpoints: [PublicEndpoint.Name: PublicEndpoint] = [:]
        for name in PublicEndpoint.Name.allCases {
            guard var endpoint = try body.object(name.rawValue) else { continue }
            endpoints[name] = PublicEndpoint(
                url: try endpoint.required("url", endpoint.string("url")),
                addressing: try endpoint.word("addressing", Bucket.Addressing.self),
                signing: try endpoint.cdnSigning())
            try endpoint.end()
        }
        try body.end()
        return endpoints
    }

    /// Reads the member `signing`; `nil` where it is absent.
    private mutating func cdnSigning() throws(GatewayError) -> CDNSigning? {
        guard var signing = try object("signing") else { return nil }
        let result = CDNSigning(
            scheme: try signing.required("scheme", signing.word("scheme", CDNSigning.Scheme.self)),
            credentialID: try signing.required("credentialID", signing.uuid("credentialID")),
            hash: try signing.word("hash", CDNSigning.Hash.self),
            bindsSourceAddress: try signing.bool("bindsSourceAddress"),
            validity: try signing.integer("validity").map { Int(clamping: $0) },
            dropsParameters: try signing.bool("dropsParameters"))
        try signing.end()
        return result
    }
}
