import Bytes
import Signing

/// The set of object keys that a grant applies to.
public enum KeyPrefix: Hashable, Sendable {
    /// A literal prefix: empty for the whole bucket, a text that ends in `/` for all keys below it, or one whole key.
    case literal(ExactText)
    /// A template with at least one whole segment filled from the caller's identity: `${sub}` or `${claim:name}`.
    case template(ExactText)

    /// Reads a literal prefix.
    ///
    /// - Parameter text: Empty, a text that ends in `/`, or one whole key. It has at most 1,023 bytes and
    ///   ``ObjectKey/maxSlashes`` `/`, and an ``ObjectKey`` may begin with it.
    /// - Throws: ``GatewayError/invalidArgument(field:reason:)`` for `prefix`.
    public init(literal text: String) throws(GatewayError) {
        try Self.check(text)
        guard !text.utf8.holds("${") else {
            throw .invalidArgument(field: "prefix", reason: "A prefix must not contain '${'; use a template.")
        }
        self = .literal(ExactText(text))
    }

    /// Reads a template.
    ///
    /// - Parameter text: Up to 1,023 bytes in the form of a literal prefix. At least one segment is `${sub}` or
    ///   `${claim:name}`, where `name` has 1…128 of `A-Z a-z 0-9 . _ : -` and is not `sub`.
    /// - Throws: ``GatewayError/invalidArgument(field:reason:)`` for `template`.
    public init(template text: String) throws(GatewayError) {
        try Self.check(text, field: "template")
        var variableCount = 0
        for segment in text.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: true) {
            guard segment.holds("${") else { continue }
            guard TemplateVariable(segment: segment) != nil else {
                let reason =
                    segment.elementsEqual("${claim:sub}".utf8)
                    ? "Use '${sub}', which is the token's subject after the prefix of its issuer."
                    : "A variable must be a whole segment: '${sub}' or '${claim:name}'."
                throw .invalidArgument(field: "template", reason: reason)
            }
            variableCount += 1
        }
        guard variableCount > 0 else {
            throw .invalidArgument(field: "template", reason: "A template must contain '${sub}' or '${claim:name}'.")
        }
        self = .template(ExactText(text))
    }

    /// The text as stored, with variables not filled in.
    public var text: String {
        switch self {
        case .literal(let text), .template(let text): text.rawValue
        }
    }

    /// Whether this is a template.
    public var isTemplate: Bool {
        if case .template = self { true } else { false }
    }

    /// Whether the prefix covers all keys below it, rather than one whole key.
    var coversManyKeys: Bool { text.isEmpty || text.utf8.last == UInt8(ascii: "/") }

    private static func check(_ text: String, field: String = "prefix") throws(GatewayError) {
        guard text.utf8.count <= 1023 else {
            throw .invalidArgument(field: field, reason: "A prefix must not exceed 1,023 bytes of UTF-8.")
        }
        guard text.hasBoundedSlashes else {
            throw .invalidArgument(
                field: field,
                reason: "A prefix must not contain more than \(ObjectKey.maxSlashes) '/'.")
        }
        if let reason = KeySyntax.flaw(inSegmentsOf: text, mayEndInSlash: true) {
            throw .invalidArgument(field: field, reason: reason)
        }
    }
}

/// A variable segment of a template.
enum TemplateVariable: Equatable {
    /// The principal's own name, including the prefix of its issuer.
    case subject
    /// The value of a claim of the credential.
    case claim(String)

    /// Reads a whole segment; `nil` if it is not a variable.
    init?(segment: Substring.UTF8View) {
        guard segment.starts(with: "${".utf8), segment.last == UInt8(ascii: "}") else { return nil }
        let name = segment.dropFirst(2).dropLast()
        if name.elementsEqual("sub".utf8) {
            self = .subject
            return
        }
        guard name.starts(with: "claim:".utf8), case let claim = name.dropFirst(6), 1...128 ~= claim.count,
            claim.allSatisfy(Self.nameBytes.contains),
            // The same raw subject may belong to users of two issuers; a principal's name is unique.
            !claim.elementsEqual("sub".utf8)
        else { return nil }
        self = .claim(String(decoding: claim, as: UTF8.self))
    }

    private static let nameBytes = ByteSet.alphanumeric.union(".:_-")
}

extension Collection<UInt8> {
    /// Whether two bytes occur next to each other in this collection.
    func holds(_ pair: StaticString) -> Bool {
        let pair = Array("\(pair)".utf8)
        return zip(self, dropFirst()).contains { $0 == pair[0] && $1 == pair[1] }
    }
}
