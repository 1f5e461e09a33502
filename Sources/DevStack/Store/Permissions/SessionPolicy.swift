import StrictJSON

/// The languages of session policies.
enum PolicyLanguage: String, Sendable, Codable {
    /// IAM of AWS.
    case aws
    /// RAM of Alibaba Cloud.
    case alibaba

    /// The version that a policy must state.
    var version: String {
        switch self {
        case .aws: "2012-10-17"
        case .alibaba: "1"
        }
    }

    /// What conditions may compare: the property of a request, the operator, and the name.
    var conditions: [(property: RequestProperty, test: String, name: String)] {
        switch self {
        case .aws: [(.prefix, "StringLike", "s3:prefix")]
        case .alibaba: [(.prefix, "StringLike", "oss:Prefix"), (.objectACL, "StringEquals", "oss:x-oss-object-acl")]
        }
    }

    /// Returns the name of a bucket or an object in policies.
    func resource(_ place: StorePlace) -> String {
        let name =
            switch place {
            case .service: "*"
            case .bucket(let bucket): bucket
            case .object(let name): "\(name.bucket)/\(name.key)"
            }
        return switch self {
        case .aws: "arn:aws:s3:::" + name
        case .alibaba: "acs:oss:local:1000000000000001:" + name
        }
    }
}

/// What conditions compare.
enum RequestProperty {
    /// The prefix of a listing.
    case prefix
    /// The ACL that an upload gives its object.
    case objectACL
}

/// The policy of a session. It is read strictly: what the store cannot evaluate is refused when the session is opened,
/// so a session never has more than its policy says.
///
/// - SeeAlso: AWS, "Policy evaluation logic"; Alibaba Cloud RAM, "Policy structure and syntax".
struct SessionPolicy: Sendable {
    /// Why a policy cannot be read.
    struct Malformed: Error {
        let reason: String
    }

    private struct Statement {
        let isAllow: Bool
        let actions: [String]
        let resources: [String]
        let condition: Condition?
    }

    /// Texts, one of which a property of the request must match. A request without the property does not.
    private struct Condition {
        let property: RequestProperty
        let hasPatterns: Bool
        let texts: [String]

        func holds(_ properties: [RequestProperty: String]) -> Bool {
            guard let value = properties[property] else { return false }
            return texts.contains { hasPatterns ? SessionPolicy.matches($0, value) : $0 == value }
        }
    }

    private let statements: [Statement]

    /// Maximum length of a policy, in characters.
    static let maxCharacters = 2048

    /// Reads a policy.
    init(_ text: String, language: PolicyLanguage) throws(Malformed) {
        guard let json = try? JSONText(reading: Array(text.utf8)), var policy = JSONMembers(json.root) else {
            throw Malformed(reason: "The policy is not a JSON object.")
        }
        guard policy.take("Version")?.string == language.version else {
            throw Malformed(reason: "The version of the policy must be \(language.version).")
        }
        _ = policy.take("Id")
        guard let node = policy.take("Statement"), policy.firstLeft == nil else {
            throw Malformed(reason: "The policy must have Version and Statement, and nothing else.")
        }
        var statements: [Statement] = []
        for item in node.items ?? [node] { statements.append(try Self.statement(item, language)) }
        self.statements = statements
    }

    /// Whether the policy permits an action: a statement allows it, and none denies it.
    ///
    /// - Parameter properties: What conditions compare, as far as the request has it.
    func permits(
        _ action: String, on resource: String, properties: [RequestProperty: String] = [:]
    ) -> Bool {
        let matches = statements.filter { statement in
            statement.actions.contains { Self.matches($0.lowercased(), action.lowercased()) }
                && statement.resources.contains { Self.covers($0, resource) }
                && statement.condition?.holds(properties) ?? true
        }
        return !matches.isEmpty && matches.allSatisfy(\.isAllow)
    }

    private static func statement(_ node: JSONNode, _ language: PolicyLanguage) throws(Malformed) -> Statement {
        guard var members = JSONMembers(node) else { throw Malformed(reason: "A statement is not an object.") }
        _ = members.take("Sid")
        let effect = members.take("Effect")?.string
        let actions = texts(members.take("Action"))
        let resources = texts(members.take("Resource"))
        let condition = try members.take("Condition").map { (node) throws(Malformed) in
            try Self.condition(node, language)
        }
        if let other = members.firstLeft {
            throw Malformed(reason: "This store does not evaluate '\(other)' in a statement.")
        }
        guard effect == "Allow" || effect == "Deny", let actions, let resources else {
            throw Malformed(reason: "A statement must have Effect, Action and Resource.")
        }
        return Statement(isAllow: effect == "Allow", actions: actions, resources: resources, condition: condition)
    }

    /// Reads a condition on one property.
    private static func condition(_ node: JSONNode, _ language: PolicyLanguage) throws(Malformed) -> Condition {
        for (property, test, name) in language.conditions {
            guard var tests = JSONMembers(node), let compared = tests.take(test), tests.firstLeft == nil,
                var names = JSONMembers(compared), let texts = texts(names.take(name)), names.firstLeft == nil
            else { continue }
            return Condition(property: property, hasPatterns: test == "StringLike", texts: texts)
        }
        let known = language.conditions.map { "\($0.test) of \($0.name)" }.joined(separator: " and ")
        throw Malformed(reason: "The conditions that this store evaluates are \(known), one in a statement.")
    }

    /// Reads a text or a list of texts; `nil` for anything else, and for an empty list.
    private static func texts(_ node: JSONNode?) -> [String]? {
        guard let node else { return nil }
        if let text = node.string { return [text] }
        guard let items = node.items, !items.isEmpty else { return nil }
        let texts = items.compactMap(\.string)
        return texts.count == items.count ? texts : nil
    }

    /// Compares the name of a resource with a pattern, part by part: the account that a star stands for must not reach
    /// into the name of the bucket.
    static func covers(_ pattern: String, _ resource: String) -> Bool {
        if pattern == "*" { return true }
        // The name of the object, which may have colons too, comes last.
        let colons = resource.hasPrefix("arn:") ? 5 : 4
        let patterns = pattern.split(separator: ":", maxSplits: colons, omittingEmptySubsequences: false)
        let parts = resource.split(separator: ":", maxSplits: colons, omittingEmptySubsequences: false)
        return patterns.count == parts.count && zip(patterns, parts).allSatisfy { matches(String($0), String($1)) }
    }

    /// Compares bytes with a pattern, in which `*` is any number of bytes, and `?` is one.
    static func matches(_ pattern: String, _ text: String) -> Bool {
        let pattern = Array(pattern.utf8)
        let text = Array(text.utf8)
        var (inPattern, inText) = (0, 0)
        var restart: (pattern: Int, text: Int)?
        while inText < text.count {
            if inPattern < pattern.count, pattern[inPattern] == UInt8(ascii: "*") {
                restart = (inPattern + 1, inText)
                inPattern += 1
            } else if inPattern < pattern.count,
                pattern[inPattern] == UInt8(ascii: "?") || pattern[inPattern] == text[inText]
            {
                inPattern += 1
                inText += 1
            } else if let last = restart {
                // Let the last star take one byte more.
                restart = (last.pattern, last.text + 1)
                (inPattern, inText) = (last.pattern, last.text + 1)
            } else {
                return false
            }
        }
        return pattern[inPattern...].allSatisfy { $0 == UInt8(ascii: "*") }
    }
}
