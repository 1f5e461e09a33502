import Signing

/// A template of keys, parsed once so that matching a key does not parse it again.
final class KeyTemplate: Sendable {
    private enum Part {
        /// Text that a key must contain literally, including `/`.
        case literal(String)
        /// One segment.
        case variable(TemplateVariable)
    }

    private let parts: [Part]
    /// Text before the first variable: empty, or a text that ends in `/`.
    let beginning: String
    /// Whether the template covers all keys below it, rather than one whole key.
    private let isDirectory: Bool

    /// Parses the text of a template. A segment that is not a variable is literal.
    init(_ text: String) {
        var parts: [Part] = []
        var literal = ""
        var isFirst = true
        for segment in text.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false) {
            if !isFirst { literal += "/" }
            isFirst = false
            if let variable = TemplateVariable(segment: segment) {
                if !literal.isEmpty { parts.append(.literal(literal)) }
                parts.append(.variable(variable))
                literal = ""
            } else {
                literal += Substring(segment)
            }
        }
        if !literal.isEmpty { parts.append(.literal(literal)) }
        self.parts = parts
        beginning = if case .literal(let text)? = parts.first { text } else { "" }
        isDirectory = text.utf8.last == UInt8(ascii: "/")
    }

    /// Returns how many bytes of a key the template covers, with variables filled in. Returns `nil` if the template
    /// does not match or a variable has no usable value.
    func matchedByteCount(of key: ObjectKey, for subject: Subject) -> Int? {
        let key = key.rawValue.utf8Span.span
        var end = 0
        for part in parts {
            switch part {
            case .literal(let text):
                let bytes = text.utf8Span.span
                guard key.begins(with: bytes, at: end) else { return nil }
                end += bytes.count
            case .variable(let variable):
                guard let text = subject.text(of: variable) else { return nil }
                let bytes = text.utf8Span.span.extracting(droppingFirst: variable.droppedByteCount)
                guard bytes.isSafeSegment(of: text), key.begins(with: bytes, at: end) else { return nil }
                end += bytes.count
            }
        }
        return isDirectory || end == key.count ? end : nil
    }

    /// Returns how many bytes of a key the template covers in a grant that denies; `nil` if it does not match.
    ///
    /// If a variable has no usable value, the intended keys are unknown. The template then covers every key below its
    /// ``beginning``.
    func deniedByteCount(of key: ObjectKey, for subject: Subject) -> Int? {
        if isFilled(for: subject) { return matchedByteCount(of: key, for: subject) }
        return subject.lacksUnknownClaims ? beginning.matchedByteCount(of: key) : nil
    }

    /// Whether each variable has a usable value.
    private func isFilled(for subject: Subject) -> Bool {
        parts.allSatisfy { part in
            guard case .variable(let variable) = part else { return true }
            return subject.segment(of: variable) != nil
        }
    }

    /// The literal prefix that the template expands to; `nil` if a variable has no usable value.
    func expanded(for subject: Subject) -> ExactText? {
        var expanded = ""
        for part in parts {
            switch part {
            case .literal(let text): expanded += text
            case .variable(let variable):
                guard let segment = subject.segment(of: variable) else { return nil }
                expanded += segment
            }
        }
        return ExactText(expanded)
    }
}

extension Subject {
    /// The text that ends with the value of a variable; `nil` if there is none.
    fileprivate func text(of variable: TemplateVariable) -> String? {
        switch variable {
        case .subject: principal.isUser ? principal.rawValue : nil
        case .claim(let name): claims[name]
        }
    }

    /// The value of a variable; `nil` if there is none, or if it cannot be a segment of a key.
    fileprivate func segment(of variable: TemplateVariable) -> Substring? {
        guard let text = text(of: variable),
            text.utf8Span.span.extracting(droppingFirst: variable.droppedByteCount).isSafeSegment(of: text)
        else { return nil }
        return Substring(text.utf8.dropFirst(variable.droppedByteCount))
    }
}

extension TemplateVariable {
    /// Number of bytes before the value in the text that holds it: those of `user:` before the name of a principal.
    fileprivate var droppedByteCount: Int {
        switch self {
        case .subject: 5
        case .claim: 0
        }
    }
}

extension Span<UInt8> {
    /// Whether these bytes, as a segment of a key, cannot change the structure of the key.
    ///
    /// - Parameter text: The text that ends with these bytes.
    fileprivate func isSafeSegment(of text: String) -> Bool {
        guard !isEmpty else { return false }
        var isASCII = true
        for index in indices {
            switch self[index] {
            case UInt8(ascii: "/"), UInt8(ascii: "\\"), UInt8(ascii: "*"), UInt8(ascii: "?"), UInt8(ascii: "$"),
                UInt8(ascii: "%"), 0..<0x20, 0x7f:
                return false
            case 0x80...: isASCII = false
            default: break
            }
        }
        return !KeySyntax.isDots(self)
            && (isASCII || text.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control })
    }
}
