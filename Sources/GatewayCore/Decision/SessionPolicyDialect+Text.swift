import StrictJSON

extension SessionPolicyDialect {
    /// Returns the session policy of a scope, as compact JSON in ASCII.
    ///
    /// In both languages, an explicit deny overrides every allow, as it does in a decision.
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

    /// Returns the store's names of the permissions that an action needs.
    ///
    /// Starting and completing a multipart upload need `PutObject`. Reading a version by its name needs
    /// `GetObjectVersion` in both languages, which no session receives.
    /// - SeeAlso: AWS, "Actions, resources, and condition keys for Amazon S3"; Alibaba Cloud OSS, "GetObject",
    ///   "Permissions".
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

/// Writes policies as JSON. Everything outside ASCII is escaped, because AWS accepts no character beyond Latin-1.
enum PolicyJSON {
    struct Statement {
        let effect: String
        let actions: [String]
        let resources: [String]
    }

    static func text(version: String, _ statements: [Statement]) -> String {
        var json = JSONWriter(escaping: .ascii)
        json.object { json in
            json.member("Version", version)
            json.name("Statement")
            json.array(statements) { json, statement in
                json.object { json in
                    json.member("Effect", statement.effect)
                    json.member("Action", statement.actions)
                    json.member("Resource", statement.resources)
                }
            }
        }
        return String(decoding: json.bytes, as: UTF8.self)
    }
}
