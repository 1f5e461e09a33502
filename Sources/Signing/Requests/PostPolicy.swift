/// The document that POST schemes sign. It says what a browser form may upload.
public struct PostPolicy: Sendable, Hashable {
    /// A condition on one field of the form, or on the file.
    public enum Condition: Sendable, Hashable {
        /// The field has this value, written `{"field": "value"}`.
        case exactly(field: String, value: String)
        /// The field has this value, written `["eq", "$field", "value"]`.
        case equals(field: String, value: String)
        /// The field begins with this text, which may be empty to allow any value.
        case startsWith(field: String, prefix: String)
        /// The field has one of these values. Only Alibaba OSS supports this.
        case oneOf(field: String, values: [String])
        /// The field has none of these values. Only Alibaba OSS supports this.
        case noneOf(field: String, values: [String])
        /// The file's size in bytes lies in this range, bounds included.
        case contentLengthRange(ClosedRange<Int64>)

        /// Name of the field that the condition applies to; `nil` for the length of the file.
        public var field: String? {
            switch self {
            case .exactly(let field, _), .equals(let field, _), .startsWith(let field, _), .oneOf(let field, _),
                .noneOf(let field, _):
                field
            case .contentLengthRange: nil
            }
        }
    }

    /// Format of the expiration.
    public enum ExpirationForm: Sendable, Hashable {
        /// `2024-05-17T08:40:00Z`
        case seconds
        /// `2024-05-17T08:40:00.000Z`
        case milliseconds
    }

    /// First instant at which the form is no longer accepted.
    public var expiration: SigningInstant
    /// All of them must hold.
    public var conditions: [Condition]

    /// Describes a policy.
    public init(expiration: SigningInstant, conditions: [Condition]) {
        self.expiration = expiration
        self.conditions = conditions
    }

    /// The policy as JSON without white space. Characters beyond ASCII are written as `\uXXXX`, so that no encoding on
    /// the way changes the signed bytes.
    public func json(expiration form: ExpirationForm) -> String {
        let fraction =
            switch form {
            case .seconds: ""
            case .milliseconds: ".000"
            }
        var text = JSONText()
        text.append(raw: #"{"expiration":"#)
        text.append("\(expiration.extended.dropLast())\(fraction)Z")
        text.append(raw: #","conditions":["#)
        for (index, condition) in conditions.enumerated() {
            if index > 0 { text.append(raw: ",") }
            text.append(condition)
        }
        text.append(raw: "]}")
        return text.text
    }
}

/// JSON as it is written, value by value.
private struct JSONText {
    private(set) var text = ""

    mutating func append(raw: StaticString) {
        text += "\(raw)"
    }

    mutating func append(_ string: String) {
        text += "\""
        for unit in string.utf16 {
            switch unit {
            case UInt16(UInt8(ascii: "\"")): text += "\\\""
            case UInt16(UInt8(ascii: "\\")): text += "\\\\"
            case 0x20...0x7E: text.unicodeScalars.append(Unicode.Scalar(UInt8(unit)))
            default:
                let digits = String(unit, radix: 16)
                text += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            }
        }
        text += "\""
    }

    mutating func append(_ condition: PostPolicy.Condition) {
        switch condition {
        case .exactly(let field, let value):
            append(raw: "{")
            append(field)
            append(raw: ":")
            append(value)
            append(raw: "}")
        case .equals(let field, let value): append(operator: "eq", field: field) { $0.append(value) }
        case .startsWith(let field, let prefix): append(operator: "starts-with", field: field) { $0.append(prefix) }
        case .oneOf(let field, let values): append(operator: "in", field: field) { $0.append(values) }
        case .noneOf(let field, let values): append(operator: "not-in", field: field) { $0.append(values) }
        case .contentLengthRange(let range):
            append(raw: #"["content-length-range","#)
            text += "\(range.lowerBound),\(range.upperBound)]"
        }
    }

    private mutating func append(operator name: String, field: String, value: (inout JSONText) -> Void) {
        append(raw: "[")
        append(name)
        append(raw: ",")
        append("$\(field)")
        append(raw: ",")
        value(&self)
        append(raw: "]")
    }

    private mutating func append(_ values: [String]) {
        append(raw: "[")
        for (index, value) in values.enumerated() {
            if index > 0 { append(raw: ",") }
            append(value)
        }
        append(raw: "]")
    }
}
