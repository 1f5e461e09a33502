import Foundation
import GatewayCore
import TestSupport

/// One generated case: who is asked for what and how, under which grant, quota and scheme, and what changes meanwhile.
struct MatrixWorld: CustomStringConvertible {
    /// The ways to a credential.
    enum Way: String, CaseIterable {
        case url, batch, form, start, part, complete, redirect, session, string, cookies
        case containerCredentials, webIdentity, gitLFS, request
        case companionForm, companionStart, companionPart, companionComplete, companionSession

        /// The actions that can be asked for.
        var actions: [Action] {
            switch self {
            case .url, .batch, .session, .containerCredentials, .webIdentity, .request: Action.allCases
            case .redirect, .cookies: [.getObject]
            case .gitLFS: [.putObject, .getObject]
            case .string: [.putObject, .getObject, .deleteObject]
            default: [.putObject]
            }
        }

        /// The protocols of which the bucket must open one; none for the gateway's own operations.
        var protocols: Set<ClientProtocol> {
            switch self {
            case .containerCredentials: [.awsContainerCredentials]
            case .webIdentity: [.awsWebIdentity]
            case .gitLFS: [.gitLFS, .gitLFSVerify]
            case .request: [.awsRemoteSigning]
            case .companionForm, .companionStart, .companionPart, .companionComplete, .companionSession:
                [.uppyCompanion]
            default: []
            }
        }

        var isSession: Bool {
            [.session, .containerCredentials, .webIdentity, .companionSession].contains(self)
        }
    }

    /// What happens to policy while a request is on its way to the ledger.
    enum Weather: String, CaseIterable {
        case fresh, staleOnce, revoked, closed, notOpened
    }

    enum Limit: String, CaseIterable {
        case none, urls, urlsUsedUp, bytes, bytesUsedUp
    }

    enum Condition: String, CaseIterable {
        case contentTypes, maxBytes, requireContentMD5, maxTTL, outside, inside, forceDownload, notYet, ended, endsSoon
    }

    let seed: UInt64
    let way: Way
    let scheme: Bucket.Scheme
    /// The limit and the first condition, in words.
    let pair: String
    let action: Action
    let weather: Weather
    let limit: Limit
    let conditions: Set<Condition>
    let isGranted: Bool
    /// Whether the grant leaves the answer's type and the version to the caller.
    let isOpen: Bool
    let allowsUnenforcedSize: Bool
    let hasWindow: Bool
    /// Whether the bucket takes uploads of Git LFS of which only the size is checked.
    let opensVerify: Bool
    /// Whether sessions may upload where that lets them make symbolic links.
    let permitsSymlinks: Bool
    let dropsParameters: Bool?
    /// Whether a client's string is in the words of another vendor.
    let isForeign: Bool
    let type: String
    let length: Int64?
    let contentMD5: String?
    let expiresIn: Int?

    static let maxBytes: Int64 = 1000
    static let bytesLeft: Int64 = 100
    static let seconds = 600

    /// Number of pairs of a limit and a first condition, or none. Each pair comes once in as many consecutive numbers.
    static let pairs = Limit.allCases.count * firsts.count
    private static let firsts: [Condition?] = [nil] + Condition.allCases.map(Optional.some)

    /// Makes a case of a way: its number deals the scheme, the limit and the first condition; the rest is drawn.
    ///
    /// The number of schemes and that of pairs have no common divisor. So each pair also meets each scheme.
    init(number: Int, seed: UInt64, way: Way) {
        var random = SeededGenerator(seed: seed, stream: way.rawValue.utf8.reduce(number) { $0 &* 31 &+ Int($1) })
        func drawn<Value>(_ values: [Value]) -> Value { values[Int.random(in: 0..<values.count, using: &random)] }
        func dealt<Value>(_ values: [Value], by number: Int) -> Value { values[number % values.count] }
        self.seed = seed
        self.way = way
        scheme = dealt(Bucket.Scheme.allCases, by: number)
        let first = dealt(Self.firsts, by: number)
        limit = dealt(Limit.allCases, by: number / Self.firsts.count)
        pair = "\(limit) \(first?.rawValue ?? "-")"
        action = drawn(way.actions)
        weather = drawn([.fresh, .fresh] + Weather.allCases)
        let second = random.once(in: 5) ? drawn(Condition.allCases) : nil
        conditions = Set([first, second].compactMap(\.self))
        isGranted = way == .webIdentity || !random.once(in: 12)
        isOpen = !random.once(in: 4)
        allowsUnenforcedSize = random.once(in: 3)
        hasWindow = random.once(in: 3)
        opensVerify = random.once(in: 2)
        isForeign = random.once(in: 6)
        type = drawn(["image/png", "image/png", "image/png", "video/mp4"])
        length = drawn([nil, 900, 900, 1001])
        contentMD5 = random.once(in: 2) ? "1B2M2Y8AsgTpgAmY7PhCfg==" : nil
        expiresIn = drawn([nil, 60, 800])
        permitsSymlinks = random.once(in: 2)
        dropsParameters = drawn([nil, false, true, true])
    }

    var description: String {
        "SLUICE_TEST_SEED=\(seed) "
            + "\(way) \(action.rawValue) \(scheme.rawValue) \(weather) \(limit) \(conditions.map(\.rawValue).sorted()) "
            + "granted \(isGranted) open \(isOpen) unenforced \(allowsUnenforcedSize) window \(hasWindow) "
            + "symlinks \(permitsSymlinks) verify \(opensVerify) foreign \(isForeign) "
            + "drops \(dropsParameters == true) \(type) \(length ?? -1) \(contentMD5 ?? "-") \(expiresIn ?? 0)"
    }

    var provider: Bucket.Provider {
        switch scheme {
        case .awsV4, .awsV2: .s3
        case .ossV4, .ossV1: .oss
        case .gcsV4RSA, .gcsV4HMAC, .gcsV2RSA: .gcs
        }
    }

    var isServiceAccount: Bool { scheme == .gcsV4RSA || scheme == .gcsV2RSA }

    func bucket() throws -> Bucket {
        var bucket = try StubPolicy.bucket()
        (bucket.provider, bucket.scheme) = (provider, scheme)
        bucket.allowsUnenforcedSize = allowsUnenforcedSize
        bucket.stableLinkWindow = hasWindow ? 3600 : 0
        bucket.permitsSymlinks = permitsSymlinks
        if way == .cookies {
            bucket.publicEndpoints[.cdn] = StubPolicy.cdn
            bucket.publicEndpoints[.cdn]?.signing?.dropsParameters = dropsParameters
        }
        if !opensVerify { bucket.protocols.remove(.gitLFSVerify) }
        if weather == .notOpened { bucket.protocols.subtract(way.protocols) }
        return bucket
    }

    func credential() -> StorageCredential {
        var credential = StubPolicy.credential()
        if isServiceAccount {
            credential.kind = .serviceAccount
            credential.secretAccessKey = Secret(TestKey.pem)
        }
        credential.sessionRole?.service = provider == .oss ? .alibaba : .aws
        if provider == .gcs { credential.sessionRole = nil }
        return credential
    }

    func grant() throws -> Grant {
        var grant = try StubPolicy().grant()
        grant.actions = isGranted ? [action] : Set(Action.allCases).subtracting([action])
        var terms = GrantConditions(
            allowResponseContentType: isOpen ? true : nil, allowVersions: isOpen ? true : nil)
        for condition in conditions {
            switch condition {
            case .contentTypes: terms.contentTypes = ["image/*"]
            case .maxBytes: terms.maxBytes = Self.maxBytes
            case .requireContentMD5: terms.requireContentMD5 = true
            case .maxTTL: terms.maxTTL = Self.seconds
            case .outside: terms.sourceCIDRs = ["198.51.100.0/24"]
            case .inside: if !conditions.contains(.outside) { terms.sourceCIDRs = ["192.0.2.0/24"] }
            case .forceDownload: terms.forceDownload = true
            case .notYet: grant.notBefore = TestGateway.now.addingTimeInterval(1)
            case .ended: grant.notAfter = TestGateway.now
            case .endsSoon:
                let end = TestGateway.now.addingTimeInterval(TimeInterval(Self.seconds))
                if !conditions.contains(.ended) { grant.notAfter = end }
            }
        }
        grant.conditions = terms
        return grant
    }

    func quotas() throws -> [Quota] {
        var quota = try StubPolicy.quota()
        switch limit {
        case .none: return []
        case .urls: break
        case .urlsUsedUp: quota.limit = 0
        case .bytes, .bytesUsedUp:
            (quota.metric, quota.action) = (.bytes, .putObject)
            quota.limit = limit == .bytes ? 1 << 40 : Self.bytesLeft
        }
        return [quota]
    }
}
