import Signing

/// The answer to one line of `sluice inspect`: the verdict, and how the string was read.
struct InspectOutput: Encodable {
    let name: String?
    let verdict: String
    let action: String?
    let bucket: String?
    let key: String?
    let subResources: [String: String]
    let headers: [String: String]
    let dateKind: String?
    let why: String?

    enum CodingKeys: String, CodingKey {
        case name, verdict, action, bucket, key, why
        case subResources = "sub_resources"
        case headers = "oss_headers"
        case dateKind = "date_kind"
    }

    /// Describes what a signature would allow.
    init(name: String, _ permission: StringPermission) {
        self.name = name
        verdict = "authorise"
        action = permission.operation.rawValue
        bucket = permission.bucket
        key = permission.key
        subResources = Self.dictionary(permission.query)
        headers = Self.dictionary(permission.headers)
        dateKind =
            switch permission.use {
            case .header: Self.httpDate
            case .presignedURL: Self.epoch
            }
        why = nil
    }

    /// Describes why a string is refused.
    init(name: String, _ refusal: StringToSignRefusal, of input: InspectInput) {
        self.name = name
        verdict = "refuse"
        (action, bucket, key) = (nil, nil, nil)
        (subResources, headers) = ([:], [:])
        dateKind = Self.dateKind(of: input)
        why = refusal.detail
    }

    // Absent values are written as null, so that every answer has the same members.
    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(name, forKey: .name)
        try container.encode(verdict, forKey: .verdict)
        try container.encode(action, forKey: .action)
        try container.encode(bucket, forKey: .bucket)
        try container.encode(key, forKey: .key)
        try container.encode(subResources, forKey: .subResources)
        try container.encode(headers, forKey: .headers)
        try container.encode(dateKind, forKey: .dateKind)
        try container.encode(why, forKey: .why)
    }

    private static let httpDate = "http-date"
    private static let epoch = "epoch"

    /// Returns the kind of the date in the fourth line, even if the string is refused.
    private static func dateKind(of input: InspectInput) -> String? {
        let lines = input.stringToSign.utf8.split(
            separator: UInt8(ascii: "\n"), maxSplits: 4, omittingEmptySubsequences: false)
        guard lines.count == 5 else { return nil }
        return switch StringDate(String(Substring(lines[3])), vendor: input.vendor) {
        case nil: nil
        case .date: httpDate
        case .expiry: epoch
        }
    }

    private static func dictionary(_ pairs: [NamedValue]) -> [String: String] {
        Dictionary(pairs.map { ($0.name, $0.value) }, uniquingKeysWith: { $1 })
    }
}
