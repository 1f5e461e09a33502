/// Whom a decision is about, as far as templates can see.
public struct Subject: Sendable {
    /// The user.
    public var principal: Principal
    /// Claims that templates may use as `${claim:name}`, by name.
    public var claims: [String: String]
    /// The ticket that bounds what the subject may ask for, if there is one.
    public var ticket: Ticket?

    /// Names a subject.
    public init(principal: Principal, claims: [String: String] = [:], ticket: Ticket? = nil) {
        self.principal = principal
        self.claims = claims
        self.ticket = ticket
    }

    /// What a variable stands for; `nil` where there is no such value or it could change the shape of a key.
    func value(of variable: TemplateVariable) -> Substring? {
        let value: Substring
        switch variable {
        case .subject:
            guard principal.isUser else { return nil }
            value = principal.rawValue[principal.rawValue.utf8.index(principal.rawValue.startIndex, offsetBy: 5)...]
        case .claim(let name):
            guard let claim = claims[name] else { return nil }
            value = claim[...]
        }
        return Self.isSafeSegment(value) ? value : nil
    }

    private static func isSafeSegment(_ value: Substring) -> Bool {
        !value.isEmpty && !value.utf8.elementsEqual(".".utf8) && !value.utf8.elementsEqual("..".utf8)
            && !value.utf8.contains(where: { "/\\*?$%".utf8.contains($0) })
            && value.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control }
    }
}

extension Caller {
    /// The caller as decisions and templates see it.
    public var subject: Subject { Subject(principal: principal, claims: claims, ticket: ticket) }
}

extension KeyPrefix {
    /// How many bytes of a key this prefix covers, variables filled in; `nil` where it does not match.
    ///
    /// Compares bytes, and never part of a segment: `team/a/` does not match `team/ab`.
    public func matchedByteCount(of key: ObjectKey, for subject: Subject) -> Int? {
        switch self {
        case .literal(let text): Self.matchedByteCount(ofLiteral: text.rawValue.utf8, in: key.rawValue.utf8)
        case .template(let text): Self.matchedByteCount(ofTemplate: text.rawValue, in: key.rawValue.utf8, for: subject)
        }
    }

    /// The literal prefix that this one stands for; `nil` where a variable has no usable value.
    public func expanded(for subject: Subject) -> ExactText? {
        guard case .template(let template) = self else { return ExactText(text) }
        var segments: [Substring] = []
        for segment in Self.segments(of: template.rawValue) {
            if let variable = TemplateVariable(segment: segment.utf8) {
                guard let value = subject.value(of: variable) else { return nil }
                segments.append(value)
            } else {
                segments.append(segment)
            }
        }
        return ExactText(segments.joined(separator: "/"))
    }

    private static func matchedByteCount(ofLiteral prefix: String.UTF8View, in key: String.UTF8View) -> Int? {
        let isDirectory = prefix.isEmpty || prefix.last == UInt8(ascii: "/")
        let matches = isDirectory ? key.starts(with: prefix) : key.elementsEqual(prefix)
        return matches ? prefix.count : nil
    }

    private static func matchedByteCount(
        ofTemplate template: String, in key: String.UTF8View, for subject: Subject
    ) -> Int? {
        let slash = UInt8(ascii: "/")
        var template = template[...].utf8
        var rest = key[...]
        while true {
            let end = template.firstIndex(of: slash)
            var expected = template[..<(end ?? template.endIndex)]
            if let variable = TemplateVariable(segment: expected) {
                guard let value = subject.value(of: variable) else { return nil }
                expected = value.utf8
            }
            guard rest.starts(with: expected) else { return nil }
            rest = rest.dropFirst(expected.count)
            guard let end else { return rest.isEmpty ? key.count : nil }
            guard rest.popFirst() == slash else { return nil }
            template = template[template.index(after: end)...]
            if template.isEmpty { return key.count - rest.count }
        }
    }

    private static func segments(of text: String) -> [Substring] {
        text.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false).map(Substring.init)
    }
}

extension ObjectKey {
    /// Every literal prefix that covers this key, shortest first: empty, each text up to a `/`, and the key itself.
    public var candidatePrefixes: [ExactText] {
        let bytes = rawValue.utf8
        var candidates = [ExactText("")]
        for index in bytes.indices where bytes[index] == UInt8(ascii: "/") {
            candidates.append(ExactText(String(Substring(bytes[...index]))))
        }
        candidates.append(ExactText(rawValue))
        return candidates
    }
}
