import HTTPTypes
import Bytes
import Signing
import StrictJSON

/// The policy of a form, read strictly and compared with the form's fields.
///
/// - SeeAlso: AWS, "POST policy"; Alibaba Cloud OSS, "PostObject".
struct FormPolicy: Sendable {
    private enum Condition {
        case equals(field: String, value: String)
        case startsWith(field: String, prefix: String)
        case among(field: String, values: [String], isWanted: Bool)
        case length(ClosedRange<Int64>)

        var field: String? {
            switch self {
            case .equals(let field, _), .startsWith(let field, _), .among(let field, _, _): field
            case .length: nil
            }
        }
    }

    private let expiration: SigningInstant
    private let conditions: [Condition]
    /// The lengths that the policy permits; every length if it names none.
    let lengths: ClosedRange<Int64>

    /// Reads the base64 text of a policy.
    ///
    /// - Throws: ``StoreError`` if any part of it is not understood.
    init(base64 text: String) throws(StoreError) {
        guard let bytes = Base64.decode(text), let json = try? JSONText(reading: bytes),
            var members = JSONMembers(json.root), let end = members.take("expiration")?.string,
            let expiration = SigningInstant(extended: Self.withoutFraction(end)),
            let items = members.take("conditions")?.items, members.firstLeft == nil
        else { throw Self.invalid("it is not JSON with 'expiration' and 'conditions'") }
        self.expiration = expiration
        var conditions: [Condition] = []
        for item in items { conditions += try Self.conditions(item) }
        self.conditions = conditions
        lengths = try Self.lengths(conditions)
    }

    /// Compares the fields of a form with the policy.
    ///
    /// - Parameters:
    ///   - fields: The fields before the file, names in lower case, and `bucket`.
    ///   - dialect: S3 demands a condition for every field; OSS demands those of version 4's signature alone.
    ///   - now: The store's time.
    /// - Throws: ``StoreError`` with what S3 says.
    func check(_ fields: [String: String], _ dialect: StoreDialect, at now: SigningInstant) throws(StoreError) {
        guard now < expiration else { throw Self.refused("Policy expired.") }
        for condition in conditions {
            guard let field = condition.field, !Self.holds(condition, fields[field] ?? "") else { continue }
            throw Self.refused("Policy Condition failed: [\"\(field)\"]")
        }
        let named = Set(conditions.compactMap(\.field))
        let demanded =
            switch dialect {
            case .s3: fields.keys.filter { !Self.free.contains($0) && !$0.hasPrefix("x-ignore-") }
            case .oss: fields["x-oss-signature"] == nil ? [] : Self.demandedByOSSV4
            }
        for field in demanded.sorted() where !named.contains(field) {
            throw Self.refused("Extra input fields: \(field)")
        }
    }

    /// Fields that need no condition.
    private static let free: Set<String> = [
        "policy", "file", "x-amz-signature", "signature", "awsaccesskeyid",
    ]

    /// What Alibaba says a policy of version 4 must name.
    private static let demandedByOSSV4 = ["bucket", "x-oss-credential", "x-oss-date", "x-oss-signature-version"]

    private static func holds(_ condition: Condition, _ value: String) -> Bool {
        switch condition {
        case .equals(_, let wanted): value.isSameBytes(as: wanted)
        case .startsWith(_, let prefix): value.utf8.starts(with: prefix.utf8)
        case .among(_, let values, let isWanted): values.contains { $0.isSameBytes(as: value) } == isWanted
        case .length: true
        }
    }

    private static func conditions(_ node: JSONNode) throws(StoreError) -> [Condition] {
        if let members = JSONMembers(node) {
            return try members.all.map { member throws(StoreError) in
                guard case .string(let value) = member.value else { throw invalid("a value is not text") }
                return .equals(field: member.name.lowercased(), value: value)
            }
        }
        guard let items = node.items, items.count == 3, let word = items[0].string?.lowercased() else {
            throw invalid("a condition has another form")
        }
        if word == "content-length-range" {
            guard let low = length(items[1]), let high = length(items[2]), low <= high else {
                throw invalid("content-length-range needs two numbers")
            }
            return [.length(low...high)]
        }
        guard let name = items[1].string, name.hasPrefix("$") else { throw invalid("a condition names no field") }
        let field = name.dropFirst().lowercased()
        switch (word, items[2].string, items[2].items) {
        case ("eq", let value?, _): return [.equals(field: field, value: value)]
        case ("starts-with", let value?, _): return [.startsWith(field: field, prefix: value)]
        case ("in", _, let values?), ("not-in", _, let values?):
            return [.among(field: field, values: values.compactMap(\.string), isWanted: word == "in")]
        default: throw invalid("a condition is not known")
        }
    }

    private static func lengths(_ conditions: [Condition]) throws(StoreError) -> ClosedRange<Int64> {
        var (low, high) = (Int64(0), Int64.max)
        for case .length(let range) in conditions {
            low = max(low, range.lowerBound)
            high = min(high, range.upperBound)
        }
        guard low <= high else { throw invalid("no length is in every content-length-range") }
        return low...high
    }

    private static func length(_ node: JSONNode) -> Int64? {
        if let text = node.string { return Int64(text).flatMap { $0 >= 0 ? $0 : nil } }
        guard case .number(let text) = node.value, let number = Int64(text), number >= 0 else { return nil }
        return number
    }

    private static func withoutFraction(_ text: String) -> String {
        guard let dot = text.firstIndex(of: "."), text.last == "Z" else { return text }
        return text[..<dot] + "Z"
    }

    private static func invalid(_ reason: String) -> StoreError {
        StoreError(.badRequest, "InvalidPolicyDocument", "Invalid Policy: \(reason).")
    }

    private static func refused(_ reason: String) -> StoreError {
        .accessDenied("Invalid according to Policy: \(reason)")
    }
}
