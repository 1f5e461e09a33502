extension KeyPrefix {
    /// Returns how many bytes of a key this prefix covers, with variables filled in; `nil` if it does not match.
    ///
    /// The comparison is by bytes and by whole segments: `team/a/` does not match `team/ab`.
    func matchedByteCount(of key: ObjectKey, for subject: Subject) -> Int? {
        switch self {
        case .literal(let text): text.rawValue.matchedByteCount(of: key)
        case .template(let text): KeyTemplate(text.rawValue).matchedByteCount(of: key, for: subject)
        }
    }

    /// Returns the literal prefix that this prefix expands to; `nil` if a variable has no usable value.
    func expanded(for subject: Subject) -> ExactText? {
        switch self {
        case .literal(let text): text
        case .template(let text): KeyTemplate(text.rawValue).expanded(for: subject)
        }
    }
}

extension Grant {
    /// Returns the literal prefix of the keys that the grant affects for a subject; `nil` if it affects none.
    ///
    /// If a variable of a template has no usable value, a grant that allows affects no key. A grant that denies then
    /// affects every key below the text before its first variable.
    func expandedPrefix(for subject: Subject) -> ExactText? {
        if let expanded = prefix.expanded(for: subject) { return expanded }
        guard effect == .deny, subject.lacksUnknownClaims, case .template(let text) = prefix else { return nil }
        return ExactText(KeyTemplate(text.rawValue).beginning)
    }
}

extension String {
    /// Returns how many bytes of a key this literal prefix covers; `nil` if it does not match.
    func matchedByteCount(of key: ObjectKey) -> Int? {
        let prefix = utf8Span.span
        let key = key.rawValue.utf8Span.span
        let isDirectory = prefix.isEmpty || prefix[prefix.count - 1] == UInt8(ascii: "/")
        guard isDirectory || prefix.count == key.count, key.begins(with: prefix, at: 0) else { return nil }
        return prefix.count
    }
}

extension Span<UInt8> {
    /// Whether this span contains some bytes at a position.
    @inline(__always)
    func begins(with bytes: Span<UInt8>, at start: Int) -> Bool {
        guard bytes.count <= count - start else { return false }
        for index in bytes.indices where self[start + index] != bytes[index] { return false }
        return true
    }
}

extension ByteExact {
    /// Every literal prefix that covers this key or prefix, shortest first: empty, each text up to a `/`, and the whole
    /// text. The prefix of a listing may be one of the former.
    public var candidatePrefixes: [ExactText] {
        let bytes = rawValue.utf8
        var candidates = [ExactText("")]
        for index in bytes.indices where bytes[index] == UInt8(ascii: "/") {
            candidates.append(ExactText(String(Substring(bytes[...index]))))
        }
        if let last = bytes.last, last != UInt8(ascii: "/") { candidates.append(ExactText(rawValue)) }
        return candidates
    }
}
