/// A browser form that uploads one file. It is the same for every scheme.
public struct PostForm: Sendable, Hashable {
    /// Where the bucket is.
    public var address: BucketAddress
    /// Value of the field `key`; `${filename}` in it represents the name of the file.
    public var key: String
    /// Further fields of the form, in their order.
    public var fields: [NamedValue]
    /// Conditions of the policy. Fields without a condition are bound to their values, as are `key` and the bucket.
    public var conditions: [PostPolicy.Condition]
    /// Life of the form in seconds.
    public var expiresInSeconds: Int

    /// Describes a form. It is checked when it is signed.
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
    private static let fileName = "${filename}".utf8

    /// The form's policy: its own conditions, and conditions on the bucket, the key and every field, including those of
    /// the signer.
    ///
    /// - Parameters:
    ///   - signerFields: Fields that the signer writes and the policy must name.
    ///   - instant: When the life of the form begins.
    ///   - life: Allowed life of a form, in seconds.
    ///   - lists: Whether the store supports conditions that list values.
    /// - Throws: ``SigningError`` for what no policy of the scheme can express.
    func policy(
        signerFields: [NamedValue], at instant: SigningInstant, life: ClosedRange<Int>, lists: Bool
    ) throws(SigningError) -> PostPolicy {
        guard life.contains(expiresInSeconds), let expiration = instant.advanced(bySeconds: expiresInSeconds) else {
            throw .expiryOutOfRange(seconds: expiresInSeconds, allowed: life)
        }
        for condition in conditions { try Self.check(condition, signerFields: signerFields, lists: lists) }
        var all = conditions
        var named = conditions.compactMap { $0.field?.lowercased() }
        // A condition on a field, unless the field already has one.
        func demand(_ name: String, _ condition: PostPolicy.Condition) {
            guard !named.contains(name) else { return }
            named.append(name)
            all.append(condition)
        }
        demand("bucket", .exactly(field: "bucket", value: address.bucket))
        demand(
            "key",
            textBeforeFileName.map { .startsWith(field: "key", prefix: $0) } ?? .exactly(field: "key", value: key))
        for field in fields {
            let name = field.name.lowercased()
            guard !name.utf8.starts(with: "x-ignore-".utf8) else { continue }
            demand(name, .exactly(field: field.name, value: field.value))
        }
        for field in signerFields {
            demand(field.name.lowercased(), .exactly(field: field.name, value: field.value))
        }
        return PostPolicy(expiration: expiration, conditions: all)
    }

    /// The key up to `${filename}`; `nil` if it has none.
    private var textBeforeFileName: String? {
        let bytes = key.utf8
        let place = bytes.indices.first { bytes[$0] == Self.fileName.first && bytes[$0...].starts(with: Self.fileName) }
        return place.map { String(key[..<$0]) }
    }

    /// All fields in the order in which they are sent, except for the file, which the client puts last.
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
