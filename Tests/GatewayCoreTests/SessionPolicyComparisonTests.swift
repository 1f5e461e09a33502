import Foundation
import TestSupport
import Testing

@testable import GatewayCore

/// Reads a session policy as a store does, without knowing how it was written.
private struct PolicyReader: Decodable {
    struct Rule: Decodable {
        enum CodingKeys: String, CodingKey {
            case effect = "Effect"
            case actions = "Action"
            case resources = "Resource"
            case conditions = "Condition"
        }

        let effect: String
        let actions: [String]
        let resources: [String]
        /// Values by operator and name.
        let conditions: [String: [String: [String]]]?

        /// Whether the conditions hold for a request with these values; a value that it lacks meets none.
        func holds(for values: [String: String]) -> Bool {
            (conditions ?? [:]).allSatisfy { test, names in
                names.allSatisfy { name, texts in
                    guard let value = values[name] else { return false }
                    switch test {
                    case "StringEquals": return texts.contains(value)
                    case "StringLike": return texts.contains { PolicyReader.matches($0[...], value[...]) }
                    default:
                        Issue.record("no store knows the test '\(test)'")
                        return false
                    }
                }
            }
        }
    }

    enum CodingKeys: String, CodingKey {
        case version = "Version"
        case rules = "Statement"
    }

    let version: String
    let rules: [Rule]

    /// Whether a request is permitted.
    ///
    /// - Parameter values: What conditions may name of the request.
    func permits(_ action: String, on resource: String, _ values: [String: String] = [:]) -> Bool {
        let matching = rules.filter { rule in
            rule.holds(for: values) && rule.actions.contains(action)
                && rule.resources.contains { Self.matches($0[...], resource[...]) }
        }
        return matching.contains { $0.effect == "Allow" } && !matching.contains { $0.effect == "Deny" }
    }

    /// Matches a pattern in which `*` stands for any characters and `?` for one.
    fileprivate static func matches(_ pattern: Substring, _ text: Substring) -> Bool {
        guard let first = pattern.first else { return text.isEmpty }
        if first == "*" {
            return matches(pattern.dropFirst(), text) || (!text.isEmpty && matches(pattern, text.dropFirst()))
        }
        guard let next = text.first, first == "?" || first == next else { return false }
        return matches(pattern.dropFirst(), text.dropFirst())
    }
}

@Suite("A session policy, compared with the decision")
struct SessionPolicyComparisonTests {
    private static let segments = ["a", "b", "ab", "é", "a b", "*"]

    private func prefix(_ random: inout SeededGenerator) -> String {
        let count = Int.random(in: 0...3, using: &random)
        let path = (0..<count).map { _ in Self.segments[Int.random(in: 0..<6, using: &random)] }.joined(separator: "/")
        return path.isEmpty || Bool.random(using: &random) ? path : path + "/"
    }

    private func grant(_ number: Int, _ random: inout SeededGenerator) throws -> Grant {
        let actions = Set(Action.allCases.filter { _ in Bool.random(using: &random) })
        let isDeny = random.once(in: 4)
        var conditions = GrantConditions()
        if !isDeny, random.once(in: 4) { conditions = Self.conditions(&random) }
        let isTemplate = random.once(in: 5)
        if !isDeny, !random.once(in: 3) { conditions.allowResponseContentType = true }
        func instant(_ seconds: TimeInterval...) -> Date? {
            guard random.once(in: 8) else { return nil }
            return seconds.randomElement(using: &random).map { Fixture.now.addingTimeInterval($0) }
        }
        return try Fixture.grant(
            number, to: ["user:alice", "group:staff", "*"][Int.random(in: 0..<3, using: &random)],
            on: isTemplate ? "a/${sub}/" : prefix(&random), actions: actions.isEmpty ? [.getObject] : actions,
            effect: isDeny ? .deny : .allow, conditions: conditions, from: instant(0, 600),
            until: instant(0, 900, 5000))
    }

    private static func conditions(_ random: inout SeededGenerator) -> GrantConditions {
        let all = [
            GrantConditions(maxBytes: 10), GrantConditions(contentTypes: ["image/png"]),
            GrantConditions(requireContentMD5: true), GrantConditions(maxTTL: 800), GrantConditions(maxTTL: 5000),
            GrantConditions(forceDownload: true), GrantConditions(sourceCIDRs: ["10.0.0.0/8"]),
            GrantConditions(allowVersions: true),
        ]
        return all[Int.random(in: 0..<all.count, using: &random)]
    }

    /// A request that the holder of the keys can make, a download with any type; `nil` for a key or prefix that the
    /// gateway takes of nobody.
    private func request(_ action: Action, _ text: String) -> IssueRequest? {
        var fields = IssueRequest.Fields()
        (fields.action, fields.bucket) = (action.rawValue, "demo-bucket")
        if action == .listObjects { fields.prefix = text } else { fields.key = text }
        if action == .putObject { fields.contentType = "text/plain" }
        if action == .getObject {
            var response = ResponseOverrides.Fields()
            response.contentType = "text/html"
            fields.response = response
        }
        return try? IssueRequest(fields)
    }

    @Test("permits no action on no key that would not be permitted", arguments: SessionPolicyDialect.allCases)
    func permitsNoMore(dialect: SessionPolicyDialect) throws {
        let words = Words(dialect)
        var random = SeededGenerator(seed: dialect == .aws ? 7 : 11)
        var permitted: [Action: Int] = [:]
        var carved = 0
        for round in 0..<1500 {
            let grants = try (0..<Int.random(in: 1...6, using: &random)).map { try grant(round * 10 + $0, &random) }
            let policy = try Fixture.policy(grants: grants)
            guard
                let request = try? SessionRequest(
                    bucket: try BucketName("demo-bucket"), prefix: prefix(&random), actions: nil, duration: nil),
                let permit = decideSession(
                    request, for: Subject(principal: try Principal("user:alice")), under: policy, sourceAddress: nil,
                    now: Fixture.now
                ).permitOrNil
            else { continue }
            let text = dialect.policy(of: permit.scope)
            let reader = try JSONDecoder().decode(PolicyReader.self, from: Data(text.utf8))
            #expect(reader.version == (dialect == .aws ? "2012-10-17" : "1"))
            #expect(words.all.isSuperset(of: reader.rules.flatMap(\.actions)), "\(reader)")
            carved += reader.rules.contains { $0.effect == "Deny" && $0.conditions == nil } ? 1 : 0
            for _ in 0..<40 {
                let folder = prefix(&random)
                let key = folder + Self.segments[Int.random(in: 0..<6, using: &random)]
                for action in Action.allCases {
                    // A listing may begin in the middle of a name, or at a whole folder.
                    let text = action == .listObjects && Bool.random(using: &random) ? folder : key
                    guard let wanted = self.request(action, text) else { continue }
                    let (name, resource) = (words.name(of: action), words.resource(of: action, text))
                    let values = action == .listObjects ? [words.prefix: text] : [:]
                    guard reader.permits(name, on: resource, values) else { continue }
                    permitted[action, default: 0] += 1
                    for acl in ["public-read", "public-read-write"] where dialect == .alibaba && action == .putObject {
                        #expect(!reader.permits(name, on: resource, [Words.acl: acl]), "\(text) with \(acl)")
                    }
                    #expect(reader.permits(name, on: resource, values.merging([Words.acl: "private"]) { $1 }))
                    #expect(
                        try Fixture.decided(wanted, under: policy).error == nil,
                        "\(action) \(text) by \(grants) through \(reader)")
                }
            }
        }
        for action in Action.allCases { #expect(permitted[action, default: 0] > 100, "\(action): \(permitted)") }
        #expect(carved > 20)
    }
}

/// What a store calls actions, objects and values, by its documents.
private struct Words {
    private let isAWS: Bool
    static let acl = "oss:x-oss-object-acl"

    init(_ dialect: SessionPolicyDialect) { isAWS = dialect == .aws }

    func name(of action: Action) -> String {
        guard isAWS else { return "oss:\(action.rawValue)" }
        return action == .listObjects ? "s3:ListBucket" : "s3:\(action.rawValue)"
    }

    /// Listing is a permission on the bucket.
    func resource(of action: Action, _ key: String) -> String {
        let bucket = isAWS ? "arn:aws:s3:::demo-bucket" : "acs:oss:x:1:demo-bucket"
        return action == .listObjects ? bucket : "\(bucket)/\(key)"
    }

    /// The value that holds the prefix of a listing.
    var prefix: String { isAWS ? "s3:prefix" : "oss:Prefix" }

    /// All permissions that a session may have. Those on versions are not among them.
    var all: Set<String> {
        let parts = isAWS ? ["s3:AbortMultipartUpload", "s3:ListMultipartUploadParts"] : Self.partsOfOSS
        return Set(Action.allCases.map(name) + parts)
    }

    private static let partsOfOSS = ["oss:AbortMultipartUpload", "oss:ListParts"]
}
