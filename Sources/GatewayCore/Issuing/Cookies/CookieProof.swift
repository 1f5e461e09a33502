import Bytes
import FoundationEssentials
import Signing

/// The policy of cookies, parsed the way CloudFront reads it.
private struct CookiePolicy: Decodable {
    struct Statement: Decodable {
        enum CodingKeys: String, CodingKey {
            case resource = "Resource"
            case conditions = "Condition"
        }

        let resource: String
        /// Values by operator and name.
        let conditions: [String: [String: Value]]
    }

    enum Value: Decodable, Equatable {
        case number(Int64)
        case text(String)

        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            self = try (try? container.decode(Int64.self)).map { .number($0) } ?? .text(container.decode(String.self))
        }
    }

    enum CodingKeys: String, CodingKey {
        case statements = "Statement"
    }

    let statements: [Statement]
}

/// Proves that signed cookies open exactly what their permit states: its keys at its bucket's network, until its end,
/// from its address.
///
/// - Parameters:
///   - signed: The cookies.
///   - permit: The decision.
///   - address: The address of the bucket at the network.
/// - Throws: ``GatewayError/unproven(_:)``, which always means a bug in the gateway.
func prove(
    _ signed: SignedCookies, by permit: CookiePermit, at address: BucketAddress
) throws(GatewayError) {
    if let gap = gap(in: signed, by: permit, at: address) { throw .unproven(gap) }
}

private func gap(in signed: SignedCookies, by permit: CookiePermit, at address: BucketAddress) -> ProofGap? {
    guard permit.bucket.linkScheme == .cdn(.cloudFront) else { return .scheme }
    guard let policy = try? JSONDecoder().decode(CookiePolicy.self, from: Data(signed.stringToSign.utf8)),
        policy.statements.count == 1, let statement = policy.statements.first
    else { return .policy }
    let isBelow = KeyArea(prefix: permit.prefix).isDirectory
    guard address.bucket.isSameBytes(as: permit.bucket.name.rawValue),
        statement.names(permit.prefix.rawValue, isBelow: isBelow, at: address)
    else { return .place }
    let end = Int64(permit.expiresAt.timeIntervalSince1970)
    guard statement.conditions["DateLessThan"] == ["AWS:EpochTime": .number(end)] else { return .expiry }
    let range = permit.sourceAddress.map { ["AWS:SourceIp": CookiePolicy.Value.text("\($0)/32")] }
    guard statement.conditions["IpAddress"] == range else { return .sourceAddress }
    guard statement.conditions.count == (range == nil ? 1 : 2) else { return .policy }
    guard signed.carriesPolicy(until: isBelow || range != nil ? nil : end) else { return .policy }
    return nil
}

extension CookiePolicy.Statement {
    /// Whether the policy names the keys that begin with a prefix, or the one key, and has no other wildcard.
    fileprivate func names(_ prefix: String, isBelow: Bool, at address: BucketAddress) -> Bool {
        var bytes = resource.utf8[...]
        if isBelow {
            guard bytes.popLast() == UInt8(ascii: "*") else { return false }
        }
        guard !bytes.contains(where: { $0 == UInt8(ascii: "*") || $0 == UInt8(ascii: "?") }) else { return false }
        let front = Array("\(address.origin)\(address.path)/".utf8)
        guard bytes.starts(with: front) else { return false }
        return PercentEncoding.decode(bytes.dropFirst(front.count), plusIsSpace: false) == Array(prefix.utf8)
    }
}

extension SignedCookies {
    /// Whether the cookies carry the policy that was signed; a canned policy is its end alone.
    fileprivate func carriesPolicy(until cannedEnd: Int64?) -> Bool {
        guard let first = cookies.first, cookies.dropFirst().prefix(2).map(\.name) == Self.others,
            cookies.dropFirst().first?.value == signature
        else { return false }
        if let cannedEnd { return first == NamedValue("CloudFront-Expires", String(cannedEnd)) }
        let encoded = first.value.utf8.map { byte in
            switch byte {
            case UInt8(ascii: "-"): UInt8(ascii: "+")
            case UInt8(ascii: "_"): UInt8(ascii: "=")
            case UInt8(ascii: "~"): UInt8(ascii: "/")
            default: byte
            }
        }
        return first.name == "CloudFront-Policy"
            && Base64.decode(String(decoding: encoded, as: UTF8.self)) == Array(stringToSign.utf8)
    }

    private static let others = ["CloudFront-Signature", "CloudFront-Key-Pair-Id"]
}
