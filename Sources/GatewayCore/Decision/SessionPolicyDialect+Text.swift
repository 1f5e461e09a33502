import StrictJSON

extension SessionRole {
    /// Returns the session policy of a scope, as compact JSON in ASCII.
    ///
    /// - Parameter scope: What the policy permits.
    public func policy(of scope: SessionScope) -> String { dialect.policy(of: scope, in: partition, key: kmsKey) }
}

extension SessionPolicyDialect {
    /// Returns the session policy of a scope, as compact JSON in ASCII.
    ///
    /// In both languages, an explicit deny overrides every allow, as it does in a decision.
    ///
    /// - Parameters:
    ///   - scope: What the policy permits.
    ///   - partition: The role's ``SessionRole/partition``, which the names of AWS begin with.
    ///   - key: The key that encrypts the objects, if there is one.
    func policy(
        of scope: SessionScope, in partition: String = SessionRole.mainPartition, key: KMSKey? = nil
    ) -> String {
        let bucket = root(in: partition) + scope.bucket.rawValue
        var statements: [PolicyJSON.Statement] = []
        let actions = Action.allCases.filter { scope.areas[$0] != nil && $0 != .listObjects }
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
                    resources: group.areas.map { resource($0, in: bucket) })
            }
        }
        if self == .alibaba, scope.areas[.putObject]?.allowed.isEmpty == false {
            statements.append(keepingPrivate(bucket))
        }
        if let areas = scope.areas[.listObjects] { statements += listing(areas.allowed, in: bucket) }
        if self == .aws, let key { statements += encrypting(by: key, in: scope) }
        return PolicyJSON.text(version: version, statements)
    }

    /// Returns the statement that keeps uploads from publishing their objects. AWS has a permission of its own for
    /// that; with OSS, `oss:PutObject` suffices. So it does with Ceph's `s3:PutObject`, which no policy narrows: there,
    /// ``Bucket/honoursUnsignedHeaders`` keeps sessions from uploading.
    /// - SeeAlso: Alibaba Cloud OSS, "Authorization syntax and elements", "Condition".
    private func keepingPrivate(_ bucket: String) -> PolicyJSON.Statement {
        PolicyJSON.Statement(
            effect: "Deny", actions: ["oss:PutObject"], resources: [bucket + "/*"],
            condition: PolicyJSON.Condition(
                test: "StringEquals", name: "oss:x-oss-object-acl", values: ["public-read", "public-read-write"]))
    }

    /// Returns the statement that allows listing some areas. Listing is a permission on the bucket; a condition narrows
    /// it by the request's prefix. A listing without a prefix fails the condition.
    private func listing(_ areas: [KeyArea], in bucket: String) -> [PolicyJSON.Statement] {
        guard !areas.isEmpty else { return [] }
        let isWhole = areas.contains { $0.prefix.rawValue.isEmpty }
        let condition = PolicyJSON.Condition(
            test: "StringLike", name: prefixKey, values: areas.map { $0.prefix.rawValue + "*" })
        return [
            PolicyJSON.Statement(
                effect: "Allow", actions: names(of: .listObjects), resources: [bucket],
                condition: isWhole ? nil : condition)
        ]
    }

    /// Returns the statement that allows S3 to use a key on behalf of the session. A session may do nothing that its
    /// policy does not allow, whatever the role and the key permit. S3 decrypts parts when it joins them, so uploads
    /// need both.
    /// - SeeAlso: AWS, "Using server-side encryption with AWS KMS keys (SSE-KMS)", "Permissions".
    private func encrypting(by key: KMSKey, in scope: SessionScope) -> [PolicyJSON.Statement] {
        let actions = scope.actions
        guard !actions.isDisjoint(with: Action.transfers) else { return [] }
        return [
            PolicyJSON.Statement(
                effect: "Allow",
                actions: ["kms:Decrypt"] + (actions.contains(.putObject) ? ["kms:GenerateDataKey"] : []),
                resources: [key.arn],
                condition: PolicyJSON.Condition(test: "StringEquals", name: "kms:ViaService", values: [key.service]))
        ]
    }

    /// The name of the request's prefix in conditions.
    private var prefixKey: String {
        switch self {
        case .alibaba: "oss:Prefix"
        case .aws: "s3:prefix"
        }
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
        case (.alibaba, .listObjects): ["oss:ListObjects"]
        case (.aws, .listObjects): ["s3:ListBucket"]
        case (.alibaba, .deleteObject): ["oss:DeleteObject"]
        case (.aws, .deleteObject): ["s3:DeleteObject"]
        }
    }

    private func resource(_ area: KeyArea, in bucket: String) -> String {
        "\(bucket)/\(area.prefix.rawValue)\(area.isDirectory ? "*" : "")"
    }

    /// Returns what the names of buckets and objects begin with.
    private func root(in partition: String) -> String {
        switch self {
        case .alibaba: "acs:oss:*:*:"
        case .aws: "arn:\(partition):s3:::"
        }
    }
}

/// Writes policies as JSON. Everything outside ASCII is escaped, because AWS accepts no character beyond Latin-1.
enum PolicyJSON {
    /// The texts, any one of which a property of the request must match.
    struct Condition {
        /// How they are compared.
        let test: String
        let name: String
        let values: [String]
    }

    struct Statement {
        let effect: String
        let actions: [String]
        let resources: [String]
        var condition: Condition?
    }

    static func text(version: String, _ statements: [Statement]) -> String {
        var json = JSONWriter(escaping: .ascii)
        json.object { json in
            json.member("Version", version)
            json.objects("Statement", statements) { json, statement in
                json.member("Effect", statement.effect)
                json.member("Action", statement.actions)
                json.member("Resource", statement.resources)
                guard let condition = statement.condition else { return }
                json.object("Condition") { json in
                    json.name(condition.test)
                    json.object { json in
                        json.name(condition.name)
                        json.strings(condition.values)
                    }
                }
            }
        }
        return String(decoding: json.bytes, as: UTF8.self)
    }
}
