extension SessionPolicyDialect {
    /// Writes the session policy of a scope: compact JSON in ASCII.
    ///
    /// An explicit deny outweighs every allow in both languages, as it does in a decision.
    public func policy(of scope: SessionScope) -> String {
        var statements: [PolicyJSON.Statement] = []
        let actions = Action.allCases.filter { scope.areas[$0] != nil }
        for (effect, areas) in [
            ("Allow", \SessionScope.Areas.allowed), ("Deny", \SessionScope.Areas.denied),
        ] {
            // Actions with the same areas share a statement.
            var groups: [(areas: [KeyArea], actions: [Action])] = []
            for action in actions {
                guard let list = scope.areas[action]?[keyPath: areas], !list.isEmpty else { continue }
                if let index = groups.firstIndex(where: { $0.areas == list }) {
                    groups[index].actions.append(action)
                } else {
                    groups.append((list, [action]))
                }
            }
            statements += groups.map { group in
                PolicyJSON.Statement(
                    effect: effect, actions: group.actions.flatMap(names),
                    resources: group.areas.map { resource($0, in: scope.bucket) })
            }
        }
        return PolicyJSON.text(version: version, statements)
    }

    private var version: String {
        switch self {
        case .alibaba: "1"
        case .aws: "2012-10-17"
        }
    }

    /// The store's names of what an action takes; uploads in parts are begun and completed as `PutObject`. To read a version by its
    /// name takes `GetObjectVersion` in both languages, which no session gets.
    ///
    /// - SeeAlso: AWS, "Actions, resources, and condition keys for Amazon S3"; Alibaba Cloud OSS, "GetObject", "Permissions".
    private func names(of action: Action) -> [String] {
        switch (self, action) {
        case (.alibaba, .putObject): ["oss:PutObject", "oss:AbortMultipartUpload", "oss:ListParts"]
        case (.alibaba, .getObject): ["oss:GetObject"]
        case (.aws, .putObject): ["s3:PutObject", "s3:AbortMultipartUpload", "s3:ListMultipartUploadParts"]
        case (.aws, .getObject): ["s3:GetObject"]
        }
    }

    private func resource(_ area: KeyArea, in bucket: BucketName) -> String {
        let name = "\(bucket)/\(area.prefix.rawValue)\(area.isDirectory ? "*" : "")"
        return switch self {
        case .alibaba: "acs:oss:*:*:" + name
        case .aws: "arn:aws:s3:::" + name
        }
    }
}

/// Writes policies. Everything outside ASCII is escaped, since AWS takes no character beyond Latin-1.
enum PolicyJSON {
    struct Statement {
        let effect: String
        let actions: [String]
        let resources: [String]
    }

    static func text(version: String, _ statements: [Statement]) -> String {
        let list = statements.map { statement in
            """
            {"Effect":\(quoted(statement.effect)),"Action":\(array(statement.actions)),\
            "Resource":\(array(statement.resources))}
            """
        }
        return #"{"Version":\#(quoted(version)),"Statement":[\#(list.joined(separator: ","))]}"#
    }

    private static func array(_ texts: [String]) -> String {
        "[" + texts.map(quoted).joined(separator: ",") + "]"
    }

    private static func quoted(_ text: String) -> String {
        var json = "\""
        for unit in text.utf16 {
            switch unit {
            case 0x22: json += #"\""#
            case 0x5c: json += #"\\"#
            case 0x20...0x7e: json.unicodeScalars.append(Unicode.Scalar(UInt8(unit)))
            default:
                let digits = String(unit, radix: 16)
                json += #"\u"# + String(repeating: "0", count: 4 - digits.count) + digits
            }
        }
        return json + "\""
    }
}
