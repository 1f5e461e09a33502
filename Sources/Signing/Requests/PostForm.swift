/// A browser form that shall be allowed to upload one file; the same for every scheme.
public struct PostForm: Sendable, Hashable {
    /// Where the bucket is.
    public var address: BucketAddress
    /// Value of the field `key`; `${filename}` in it stands for the name of the file.
    public var key: String
    /// Further fields of the form, in their order.
    public var fields: [NamedValue]
    /// What the policy demands. A field that no condition is about is bound to its value, and `key` and the bucket are as
    /// well.
    public var conditions: [PostPolicy.Condition]
    /// Life of the form in seconds.
    public var expiresInSeconds: Int

    /// Puts a form together; it is checked when it is signed.
    public init(
        address: BucketAddress,
        key: String,
        fields: [NamedValue] = [],
        conditions: [PostPolicy.Condition] = [],
        expiresInSeconds: Int
    ) {
        self.address = address
        self.key = key
        self.fields = fields
        self.conditions = conditions
        self.expiresInSeconds = expiresInSeconds
    }
}

extension PostForm {
    private static let fileName = "${filename}"

    /// The form's policy: what it demands itself, the bucket, the key, every field, and the fields that the signer writes.
    ///
    /// - Parameters:
    ///   - signerFields: Fields that the signer writes and the policy must name.
    ///   - instant: When the life of the form begins.
    ///   - life: Seconds that a form of the scheme may live.
    ///   - lists: Whether the store knows conditions that list values.
    /// - Throws: ``SigningError`` for what no policy of the scheme can say.
    func policy(
        signerFields: [NamedValue], at instant: SigningInstant, life: ClosedRange<Int>, lists: Bool
    ) throws(SigningError) -> PostPolicy {
        guard life.contains(expiresInSeconds), let expiration = instant.advanced(bySeconds: expiresInSeconds) else {
            throw .expiryOutOfRange(seconds: expiresInSeconds, allowed: life)
        }
        for condition in conditions { try Self.check(condition, signerFields: signerFields, lists: lists) }
        var policy = PostPolicy(expiration: expiration, conditions: conditions)
        policy.demand("bucket") { .exactly(field: "bucket", value: address.bucket) }
        policy.demand("key") {
            guard let fileName = key.firstRange(of: Self.fileName) else { return .exactly(field: "key", value: key) }
            return .startsWith(field: "key", prefix: String(key[..<fileName.lowerBound]))
        }
        for field in fields where !field.name.lowercased().utf8.starts(with: "x-ignore-".utf8) {
            policy.demand(field.name) { .exactly(field: field.name, value: field.value) }
        }
        for field in signerFields { policy.demand(field.name) { .exactly(field: field.name, value: field.value) } }
        return policy
    }

    /// All fields in the order in which they are sent, but for the file, which the client puts last.
    ///
    /// - Throws: ``SigningError/reservedField(_:)`` or ``SigningError/duplicateField(_:)``.
    func fields(followedBy signerFields: [NamedValue]) throws(SigningError) -> [NamedValue] {
        var all = [NamedValue("key", key)]
        for field in fields {
            let name = field.name.lowercased()
            guard name != "file", name != "key", !signerFields.contains(where: { $0.name.lowercased() == name }) else {
                throw .reservedField(field.name)
            }
            guard !all.contains(where: { $0.name.lowercased() == name }) else { throw .duplicateField(field.name) }
            all.append(field)
        }
        return all + signerFields
    }

    private static func check(
        _ condition: PostPolicy.Condition, signerFields: [NamedValue], lists: Bool
    ) throws(SigningError) {
        switch condition {
        case .oneOf where !lists: throw .conditionNotSupported("in")
        case .noneOf where !lists: throw .conditionNotSupported("not-in")
        case .contentLengthRange(let range) where range.lowerBound < 0:
            throw .conditionNotSupported("content-length-range below 0")
        default: break
        }
        guard let name = condition.field?.lowercased() else { return }
        guard !signerFields.contains(where: { $0.name.lowercased() == name }) else { throw .reservedField(name) }
    }
}

extension PostPolicy {
    /// Adds a condition about a field unless there is one.
    fileprivate mutating func demand(_ field: String, _ condition: () -> Condition) {
        let name = field.lowercased()
        guard !conditions.contains(where: { $0.field?.lowercased() == name }) else { return }
        conditions.append(condition())
    }
}
