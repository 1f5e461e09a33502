import FoundationEssentials

/// A session policy, parsed the way a security token service reads it.
private struct SessionPolicy: Decodable {
    struct Statement: Decodable {
        enum CodingKeys: String, CodingKey {
            case effect = "Effect"
            case actions = "Action"
            case resources = "Resource"
            case conditions = "Condition"
        }

        let effect: String
        let actions: [String]
        let resources: [String]
        /// Patterns by operator and name.
        let conditions: [String: [String: [String]]]?
    }

    enum CodingKeys: String, CodingKey {
        case version = "Version"
        case statements = "Statement"
    }

    let version: String
    let statements: [Statement]
}

/// One effect of a policy on one action and one resource, and the condition that narrows it: operator, name and pattern
/// in one text.
private struct Clause: Hashable {
    let effect: String
    let action: String
    let resource: String
    var condition: String?
}

/// Proves that a session policy allows and denies exactly what its permit states.
///
/// - Parameters:
///   - text: The policy text that the service receives.
///   - dialect: The policy language.
///   - partition: The role's ``SessionRole/partition``.
///   - key: The key that encrypts the objects, if there is one.
///   - permit: The decision.
/// - Throws: ``GatewayError/unproven(_:)``, which always means a bug in the gateway.
func prove(
    _ text: String, in dialect: SessionPolicyDialect, _ partition: String = SessionRole.mainPartition,
    key: KMSKey? = nil, by permit: SessionPermit
) throws(GatewayError) {
    guard let policy = try? JSONDecoder().decode(SessionPolicy.self, from: Data(text.utf8)),
        policy.version == (dialect == .aws ? "2012-10-17" : "1"), permit.scope.bucket == permit.bucket.name
    else { throw .unproven(.policy) }
    var said: Set<Clause> = []
    for statement in policy.statements {
        for action in statement.actions {
            for resource in statement.resources {
                for condition in statement.narrowings {
                    said.insert(
                        Clause(effect: statement.effect, action: action, resource: resource, condition: condition))
                }
            }
        }
    }
    guard said == dialect.clauses(of: permit.scope, in: partition, key: key) else { throw .unproven(.policy) }
}

extension SessionPolicy.Statement {
    /// The conditions, any one of which suffices; `[nil]` if there are none. Conditions of several names would all have
    /// to hold, which no policy of the gateway says.
    fileprivate var narrowings: [String?] {
        guard let conditions else { return [nil] }
        guard conditions.count == 1, let (word, properties) = conditions.first, properties.count == 1,
            let (name, patterns) = properties.first
        else { return ["several"] }
        return patterns.map { "\(word) \(name) \($0)" }
    }
}

extension SessionPolicyDialect {
    /// Returns the clauses that the policy for a scope must contain. None of them covers object versions: a session
    /// reads the newest one.
    fileprivate func clauses(of scope: SessionScope, in partition: String, key: KMSKey?) -> Set<Clause> {
        var clauses: Set<Clause> = []
        let service = self == .aws ? "s3:" : "oss:"
        let bucket = (self == .aws ? "arn:\(partition):s3:::" : "acs:oss:*:*:") + scope.bucket.rawValue
        let place = bucket + "/"
        for action in scope.actions {
            let operations =
                switch action {
                case .putObject:
                    ["PutObject", "AbortMultipartUpload", self == .aws ? "ListMultipartUploadParts" : "ListParts"]
                case .getObject: ["GetObject"]
                case .deleteObject: ["DeleteObject"]
                case .listObjects: [self == .aws ? "ListBucket" : "ListObjects"]
                }
            guard action != .listObjects else {
                clauses.formUnion(listingClauses(of: scope, on: bucket, action: service + operations[0]))
                continue
            }
            for (effect, prefixes) in [("Allow", scope.allowed(action)), ("Deny", scope.denied(action))] {
                for prefix in prefixes.map(\.rawValue) {
                    let isDirectory = prefix.isEmpty || prefix.utf8.last == UInt8(ascii: "/")
                    for operation in operations {
                        clauses.insert(
                            Clause(
                                effect: effect, action: service + operation,
                                resource: place + prefix + (isDirectory ? "*" : "")))
                    }
                }
            }
        }
        if self == .alibaba, !scope.allowed(.putObject).isEmpty {
            for access in ["public-read", "public-read-write"] {
                clauses.insert(
                    Clause(
                        effect: "Deny", action: "oss:PutObject", resource: place + "*",
                        condition: "StringEquals oss:x-oss-object-acl \(access)"))
            }
        }
        if self == .aws, let key { clauses.formUnion(key.clauses(of: scope)) }
        return clauses
    }

    /// Returns the clauses for listing: on the bucket, narrowed by the prefix unless the whole bucket may be listed.
    private func listingClauses(of scope: SessionScope, on bucket: String, action: String) -> [Clause] {
        let name = self == .aws ? "s3:prefix" : "oss:Prefix"
        return scope.allowed(.listObjects).map { prefix in
            let condition = prefix.rawValue.isEmpty ? nil : "StringLike \(name) \(prefix.rawValue)*"
            return Clause(effect: "Allow", action: action, resource: bucket, condition: condition)
        }
    }
}

extension KMSKey {
    /// Returns the clauses that let a session read, and write if it may, what the key encrypts.
    fileprivate func clauses(of scope: SessionScope) -> [Clause] {
        let (reads, writes) = (!scope.allowed(.getObject).isEmpty, !scope.allowed(.putObject).isEmpty)
        let operations = (reads || writes ? ["Decrypt"] : []) + (writes ? ["GenerateDataKey"] : [])
        return operations.map { operation in
            Clause(
                effect: "Allow", action: "kms:" + operation, resource: arn,
                condition: "StringEquals kms:ViaService \(service)")
        }
    }
}
