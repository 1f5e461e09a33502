import Foundation
import TestSupport

@testable import GatewayCore
import LibCrypto

/// A random bucket, with a grant, quotas and a request under them.
struct GeneratedWorld: CustomStringConvertible {
    /// The deliveries of a credential.
    enum Delivery: String, CaseIterable {
        case single
        case batch
        case deletion
        case listing
        case batchOfListings
        case redirect
        case start
        case part
        case complete
    }

    let seed: UInt64
    let number: Int
    let scheme: Bucket.Scheme
    let delivery: Delivery
    var bucket: Bucket
    var grant: Grant
    var hasByteQuota = false
    var fields = IssueRequest.Fields()
    var random: SeededGenerator

    static let uploadID = "2~Upload-Id.of_the+store/="
    static let partNumber = 7

    /// Draws a world.
    ///
    /// - Parameter number: Distinguishes worlds of the same seed.
    init(seed: UInt64, number: Int, scheme: Bucket.Scheme, delivery: Delivery) throws {
        self.seed = seed
        self.number = number
        self.scheme = scheme
        self.delivery = delivery
        random = SeededGenerator(seed: seed &+ UInt64(number))
        bucket = try Fixture.bucket(scheme: scheme)
        grant = try Fixture.grant(1)
        bucket.provider =
            switch scheme {
            case .awsV4, .awsV2: .s3
            case .ossV4, .ossV1: .oss
            case .gcsV4RSA, .gcsV4HMAC, .gcsV2RSA: .gcs
            }
        bucket.addressing = Bool.random(using: &random) ? .path : .virtual
        bucket.allowsUnenforcedSize = chance(3)
        bucket.allowsRedirects = true
        if chance(4) { bucket.maxTTL = 300 }
        drawConditions()
        switch delivery {
        case .deletion: drawDeletion()
        case .listing, .batchOfListings: drawListing()
        default: drawFields()
        }
        drawAddresses()
        bucket.stableLinkWindow = [0, 0, 3600, 86_400].randomElement(using: &random) ?? 0
    }

    /// Draws a deletion under a grant that may lack it.
    private mutating func drawDeletion() {
        grant.actions = chance(4) ? [.putObject, .getObject, .listObjects] : [.deleteObject]
        if chance(5) { grant.conditions.sourceCIDRs = ["192.0.2.0/24"] }
        fields.bucket = "demo-bucket"
        fields.action = "DeleteObject"
        fields.key = ["team/photo.png", "team/é ü/a+b&c=d.txt", "team/~x/%41", "teams/x"].randomElement(using: &random)
        if !chance(3) { fields.expiresIn = [1, 60, 250, 604_800].randomElement(using: &random) }
        if chance(4) { fields.method = "DELETE" }
    }

    /// Draws a listing, perhaps outside the grant.
    private mutating func drawListing() {
        grant.actions = chance(4) ? [.putObject, .getObject, .deleteObject] : [.listObjects, .getObject]
        if chance(5) { grant.conditions.sourceCIDRs = ["192.0.2.0/24"] }
        fields.bucket = "demo-bucket"
        fields.action = "ListObjects"
        let prefixes = ["team/", "team/é ü/a+b", "team/a/b/", "team", "", "teams/", "other/"]
        let isOutside = chance(3)
        fields.prefix = prefixes[Int.random(in: isOutside ? 3..<prefixes.count : 0..<3, using: &random)]
        if !chance(3) { fields.expiresIn = [1, 60, 250, 604_800].randomElement(using: &random) }
        guard !chance(3) else { return }
        var list = Listing.Fields()
        if chance(2) { list.delimiter = "/" }
        if chance(2) { list.maxKeys = [1, 100, 1000].randomElement(using: &random) }
        if chance(3) { list.continuationToken = "1ueGcxLPRx1Tr/XYExHnhbYLgveDs2J/wm36Hy4vbOwM=" }
        if chance(3) { list.startAfter = "team/é ü/a+b&c" }
        if chance(3) { list.encodingType = "url" }
        fields.list = list
    }

    var isUpload: Bool { fields.action == "PutObject" }

    mutating func chance(_ count: Int) -> Bool { Int.random(in: 0..<count, using: &random) == 0 }

    private mutating func drawConditions() {
        var conditions = GrantConditions()
        if chance(3) { conditions.contentTypes = ["image/png", "text/*"] }
        if chance(3) { conditions.maxBytes = 1000 }
        if chance(4) { conditions.requireContentMD5 = true }
        if chance(4) { conditions.maxTTL = 200 }
        if chance(4) { conditions.forceDownload = true }
        if !chance(3) { conditions.allowResponseContentType = true }
        if !chance(3) { conditions.allowVersions = true }
        grant.conditions = conditions
        hasByteQuota = chance(3)
    }

    private mutating func drawFields() {
        let isRead = delivery == .redirect || ([.single, .batch].contains(delivery) && chance(2))
        fields.bucket = "demo-bucket"
        fields.key = ["team/photo.png", "team/é ü/a+b&c=d.txt", "team/~x/%41"].randomElement(using: &random)
        fields.action = isRead ? "GetObject" : "PutObject"
        if !chance(3) { fields.expiresIn = [1, 60, 250, 604_800].randomElement(using: &random) }
        if isRead { drawRead() } else { drawUpload() }
    }

    private mutating func drawRead() {
        let isProcessed = chance(5)
        if !isProcessed, chance(4) { fields.method = "HEAD" }
        if chance(4) { fields.versionID = chance(2) ? "1715934600000001" : "3sL4kqtJlcpXroDTDmJ+rmSpXd3=" }
        guard delivery != .redirect else { return }
        if isProcessed { fields.process = "image/resize,w_100" }
        guard chance(2) else { return }
        var response = ResponseOverrides.Fields()
        if chance(2) { response.contentType = "text/html; charset=utf-8" }
        if chance(3) {
            response.filename = "é \"name\".txt"
        } else if chance(3) {
            response.contentDisposition = "inline"
        }
        if chance(4) { response.cacheControl = "private, max-age=1" }
        if chance(4) { response.contentLanguage = "de" }
        if chance(4) { response.expires = "Fri, 17 May 2024 08:30:00 GMT" }
        if chance(4) { response.contentEncoding = "gzip" }
        fields.response = response
    }

    private mutating func drawUpload() {
        fields.contentType = ["image/png", "text/plain; charset=utf-8", "video/mp4"].randomElement(using: &random)
        if delivery != .complete, delivery != .start {
            if chance(2) { fields.contentMD5 = "1B2M2Y8AsgTpgAmY7PhCfg==" }
            if !chance(3) { fields.contentLength = [0, 10, 1000, 1001].randomElement(using: &random) }
        }
        guard [.single, .batch].contains(delivery) else { return }
        if chance(5) { fields.checksumSHA256 = "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=" }
        if chance(4) { fields.ifNoneMatch = "*" }
        if chance(3) { fields.metadata = ["owner": "a  b", "x": "1"] }
    }

    private mutating func drawAddresses() {
        guard chance(2) else { return }
        bucket.publicEndpoints[.default] = chance(3) ? nil : PublicEndpoint(url: "https://files.example:8443")
        bucket.publicEndpoints[.internal] = PublicEndpoint(
            url: "http://store.internal",
            addressing: [nil, .path, .cname, .virtual].randomElement(using: &random) ?? nil)
        guard delivery != .start, delivery != .complete else { return }
        fields.endpoint = [nil, "default", "internal", "accelerate"].randomElement(using: &random) ?? nil
    }

    /// The validated request; throws where its fields are invalid.
    func request() throws -> IssueRequest {
        let step: MultipartStep? =
            switch delivery {
            case .single, .batch, .redirect, .deletion, .listing, .batchOfListings: nil
            case .start: .start(objectLength: 900)
            case .part:
                .part(.init(storeUploadID: Self.uploadID, number: Self.partNumber, issuance: UUID(), objectLength: 900))
            case .complete: .complete(storeUploadID: Self.uploadID, objectLength: 900)
            }
        let kind: GatewayCore.Delivery =
            switch delivery {
            case .single, .batch, .deletion, .listing, .batchOfListings: .presignedURL
            case .redirect: .redirect
            case .start: .multipartStart
            case .part: .multipartPart
            case .complete: .multipartComplete
            }
        return try IssueRequest(fields, delivery: kind, multipart: step, repeatable: nil, newName: nil)
    }

    func tables(key: String = "k") throws -> ScriptedPolicy.Tables {
        var tables = ScriptedPolicy.Tables()
        tables.bucket = bucket
        var credential = Fixture.credential()
        if scheme.credentialKind == .serviceAccount {
            credential.kind = .serviceAccount
            credential.secretAccessKey = Secret(TestKey.pem)
        }
        tables.credential = credential
        tables.grants = [grant]
        tables.quotas = [try Fixture.quota(2, action: .listObjects), try Fixture.quota(3, action: .deleteObject)]
        if hasByteQuota { tables.quotas.append(try Fixture.quota(1, metric: .bytes, limit: 100_000)) }
        tables.apiKeys = [
            APIKey(
                id: Fixture.id(900), prefix: key, hash: Digest(), name: "n", principal: try Principal("user:alice"),
                createdAt: Fixture.now)
        ]
        return tables
    }

    var store: StoreReading {
        let words: StoreReading.Scheme =
            switch scheme {
            case .awsV4: .awsV4
            case .awsV2: .awsV2
            case .ossV4: .ossV4
            case .ossV1: .ossV1
            case .gcsV4RSA: .gcsV4RSA
            case .gcsV4HMAC: .gcsV4HMAC
            case .gcsV2RSA: .gcsV2RSA
            }
        return StoreReading(
            scheme: words, bucket: "demo-bucket", isPathStyle: expectedPlace.addressing == .path,
            secret: scheme.credentialKind == .serviceAccount ? TestKey.pem : "not-a-secret")
    }

    var description: String {
        "world \(number) of the seed \(seed): \(scheme.rawValue), \(delivery), \(grant.conditions), bytes \(hasByteQuota), "
            + "unenforced \(bucket.allowsUnenforcedSize), \(bucket.publicEndpoints), "
            + "window \(bucket.stableLinkWindow), \(fields)"
    }
}

extension GeneratedWorld {
    private var isGoogle: Bool { bucket.provider == .gcs }
    private var carriesBytes: Bool { isUpload && delivery != .start && delivery != .complete }

    var expectedMethod: String {
        switch delivery {
        case .start, .complete: "POST"
        case .part: "PUT"
        case .single, .batch, .redirect: fields.method ?? (isUpload ? "PUT" : "GET")
        case .deletion: "DELETE"
        case .listing, .batchOfListings: "GET"
        }
    }

    private var expectedPlace: (scheme: String, host: String, addressing: Bucket.Addressing) {
        let isOwn = delivery == .start || delivery == .complete
        switch fields.endpoint ?? "default" {
        case "default" where !isOwn && bucket.publicEndpoints[.default] != nil:
            return ("https", "files.example:8443", bucket.addressing)
        case "internal":
            return ("http", "store.internal", bucket.publicEndpoints[.internal]?.addressing ?? bucket.addressing)
        default: return ("https", "s3.example.com", bucket.addressing)
        }
    }

    /// What the URL must begin with.
    var expectedFront: String {
        let (scheme, host, addressing) = expectedPlace
        let folder = isListing ? "?" : "team/"
        return switch addressing {
        case .virtual: "\(scheme)://demo-bucket.\(host)/\(folder)"
        case .path: "\(scheme)://\(host)/demo-bucket/\(folder)"
        case .cname: "\(scheme)://\(host)/\(folder)"
        }
    }

    /// The instant from which the URL must be dead, in seconds since 1970.
    var expectedEnd: Int {
        let now = Int(Fixture.now.timeIntervalSince1970)
        let limit = min(grant.conditions.maxTTL ?? .max, bucket.maxTTL, 604_800)
        let life = min(fields.expiresIn ?? 900, limit)
        let window = bucket.stableLinkWindow
        guard !isUpload, !isListingOrDeletion, window > 0, life + window <= limit else { return now + life }
        return now / window * window + life + window
    }

    /// Headers that the store must require with exactly these values.
    var expectedHeaders: [String: String] {
        guard isUpload else { return [:] }
        var headers: [String: String] = [:]
        if delivery != .part, delivery != .complete { headers["content-type"] = fields.contentType }
        headers["content-md5"] = fields.contentMD5
        headers["x-amz-checksum-sha256"] = fields.checksumSHA256
        let vendor = isGoogle ? "x-goog-" : bucket.provider == .oss ? "x-oss-" : "x-amz-"
        for (name, value) in fields.metadata ?? [:] { headers[vendor + "meta-" + name] = value }
        if fields.ifNoneMatch != nil {
            switch bucket.provider {
            case .gcs: headers["x-goog-if-generation-match"] = "0"
            case .oss: headers["x-oss-forbid-overwrite"] = "true"
            case .aws, .s3: headers["if-none-match"] = "*"
            }
        }
        guard carriesBytes else { return headers }
        let range = "x-goog-content-length-range"
        if let length = fields.contentLength {
            switch scheme {
            case .awsV4, .ossV4, .gcsV4RSA, .gcsV4HMAC: headers["content-length"] = "\(length)"
            case .gcsV2RSA: headers[range] = "\(length),\(length)"
            case .awsV2, .ossV1: break
            }
        } else if let most = grant.conditions.maxBytes, isGoogle, delivery != .part {
            headers[range] = "0,\(most)"
        }
        return headers
    }

    /// The most bytes that such headers admit.
    var boundBytes: Int64? {
        let headers = expectedHeaders
        if let length = headers["content-length"] { return Int64(length) }
        return headers["x-goog-content-length-range"].flatMap { Int64($0.drop { $0 != "," }.dropFirst()) }
    }

    /// Query parameters that the store must require with exactly these values.
    var expectedQuery: [String: String] {
        switch delivery {
        case .start: return ["uploads": ""]
        case .part: return ["partNumber": "\(Self.partNumber)", "uploadId": Self.uploadID]
        case .complete: return ["uploadId": Self.uploadID]
        case .listing, .batchOfListings: return expectedListing
        case .deletion: return [:]
        case .single, .batch, .redirect: break
        }
        guard !isUpload else { return [:] }
        var query: [String: String] = [:]
        let response = fields.response
        query["response-content-type"] = response?.contentType
        query["response-cache-control"] = response?.cacheControl
        query["response-content-language"] = response?.contentLanguage
        query["response-expires"] = response?.expires
        query["response-content-encoding"] = response?.contentEncoding
        if response?.filename != nil {
            query["response-content-disposition"] =
                "attachment; filename=\"_ _name_.txt\"; filename*=UTF-8''%C3%A9%20%22name%22.txt"
        } else {
            query["response-content-disposition"] =
                response?.contentDisposition ?? (grant.conditions.forceDownload == true ? "attachment" : nil)
        }
        query["x-oss-process"] = fields.process
        query[isGoogle ? "generation" : "versionId"] = fields.versionID
        return query
    }

    private var expectedListing: [String: String] {
        var query = ["list-type": "2"]
        query["prefix"] = fields.prefix?.isEmpty == false ? fields.prefix : nil
        query["delimiter"] = fields.list?.delimiter
        query["max-keys"] = fields.list?.maxKeys.map { "\($0)" }
        query["continuation-token"] = fields.list?.continuationToken
        query["start-after"] = fields.list?.startAfter
        query["encoding-type"] = fields.list?.encodingType
        return query
    }

    var isListing: Bool { delivery == .listing || delivery == .batchOfListings }
    var isListingOrDeletion: Bool { isListing || delivery == .deletion }

    /// The quotas that count the link, besides those of bytes.
    var expectedQuotas: [UUID] {
        switch delivery {
        case .deletion: [Fixture.id(3)]
        case .listing, .batchOfListings: [Fixture.id(2)]
        default: []
        }
    }

    /// Whether the scheme can bind what the delivery needs.
    var isPossible: Bool {
        switch delivery {
        case .deletion: signsVersions
        case .listing, .batchOfListings: ![.awsV2, .ossV1, .gcsV2RSA].contains(scheme)
        case .start, .part, .complete: scheme != .gcsV2RSA
        case .single, .batch, .redirect: true
        }
    }

    /// The actions and parameters that the links of the delivery together must have, for all to be tried.
    var essentials: Set<String> {
        let version = isGoogle ? "generation" : "versionId"
        let parameters = signsVersions ? [version, "response-content-disposition"] : []
        return switch delivery {
        case .single, .batch:
            Set(["PutObject", "GetObject"] + parameters + (signsVersions ? ["response-content-type"] : []))
        case .redirect: Set(parameters)
        default: []
        }
    }

    /// The action and the parameters of the link.
    var traits: Set<String> { Set(expectedQuery.keys).union([fields.action].compactMap(\.self)) }

    // MARK: What schemes bind: the table "What a URL binds"

    private var signsVersions: Bool { scheme != .gcsV2RSA }
    private var bindsLength: Bool { [.awsV4, .ossV4, .gcsV4RSA, .gcsV4HMAC].contains(scheme) }
    private var separatesParameters: Bool { ![.awsV2, .ossV1].contains(scheme) }

    /// The headers of the answer that the scheme can bind.
    private var overrides: Set<String> {
        if scheme == .gcsV2RSA { return [] }
        return isGoogle ? ["response-content-type", "response-content-disposition"] : Self.allOverrides
    }

    private static let allOverrides = Set(
        ["type", "disposition", "language", "encoding"].map { "response-content-" + $0 }
            + ["response-cache-control", "response-expires"])

    /// The key in the path: none in a listing, which names the bucket.
    var expectedKey: String { fields.key ?? "" }

    /// The demand on a listing or deletion that the request does not meet, by the words of the promises alone.
    private var offenceOfOthers: String? {
        let place = fields.prefix ?? fields.key ?? ""
        guard place.hasPrefix("team/") else { return "outside the grant" }
        if grant.conditions.sourceCIDRs != nil { return "sourceCIDRs" }
        switch delivery {
        case .deletion:
            if !grant.actions.contains(.deleteObject) { return "action" }
            return isPossible ? nil : "any version"
        default:
            if !grant.actions.contains(.listObjects) { return "action" }
            return isPossible ? nil : "the whole bucket"
        }
    }

    /// The demand of grant, quota, bucket or scheme that the request does not meet. Nothing may be issued then, and all
    /// else must be.
    var offence: String? {
        if let name = fields.endpoint, name != "default", name != "internal" || bucket.publicEndpoints.isEmpty {
            return "endpoint"
        }
        if isListingOrDeletion { return offenceOfOthers }
        return isUpload ? offenceOfUpload : offenceOfDownload
    }

    private var offenceOfUpload: String? {
        guard isPossible else { return "parts" }
        let conditions = grant.conditions
        if conditions.contentTypes != nil, fields.contentType == "video/mp4" { return "contentTypes" }
        if conditions.requireContentMD5 == true, carriesBytes, fields.contentMD5 == nil { return "requireContentMD5" }
        // The length of an object in parts is bound through that of each part alone.
        let isUnbound = carriesBytes ? boundBytes == nil : delivery == .start && !bindsLength
        if let most = conditions.maxBytes {
            if carriesBytes, delivery != .part, max(fields.contentLength ?? 0, boundBytes ?? 0) > most {
                return "maxBytes"
            }
            if isUnbound, bindsLength || !bucket.allowsUnenforcedSize { return "unbound" }
        }
        if hasByteQuota, isUnbound { return "bytes" }
        if fields.checksumSHA256 != nil, scheme != .awsV4 { return "checksumSHA256" }
        if fields.ifNoneMatch != nil, scheme == .awsV2 { return "ifNoneMatch" }
        return nil
    }

    private var offenceOfDownload: String? {
        let conditions = grant.conditions
        let query = expectedQuery
        if query["response-content-type"] != nil, conditions.allowResponseContentType != true { return "override" }
        if fields.versionID != nil, conditions.allowVersions != true { return "version" }
        if conditions.forceDownload == true,
            query["response-content-disposition"]?.hasPrefix("attachment") != true
        {
            return "forceDownload"
        }
        let isOpen = conditions.allowResponseContentType == true && conditions.allowVersions == true
        if !signsVersions, conditions.forceDownload == true || !isOpen || fields.versionID != nil {
            return "unsigned parameters"
        }
        if fields.process != nil, bucket.provider != .oss { return "process" }
        if !Self.allOverrides.intersection(query.keys).isSubset(of: overrides) { return "unknown override" }
        if isGoogle, let version = fields.versionID, Int64(version) == nil { return "generation" }
        // The holder can make a parameter the end of another.
        let isTelling = conditions.forceDownload == true || fields.versionID != nil || fields.process != nil
        return !separatesParameters && isTelling && query.count > 1 ? "joined parameters" : nil
    }
}
