import StrictJSON

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
        var json = JSONWriter(escaping: .ascii)
        json.object { json in
            json.member("expiration", "\(expiration.extended.dropLast())\(fraction)Z")
            json.array("conditions", conditions) { $1.write(to: &$0) }
        }
        return String(decoding: json.bytes, as: UTF8.self)
    }
}

extension PostPolicy.Condition {
    fileprivate func write(to json: inout JSONWriter) {
        switch self {
        case .exactly(let field, let value): json.object { $0.member(named: field, value) }
        case .equals(let field, let value): Self.write("eq", field, to: &json) { $0.string(value) }
        case .startsWith(let field, let prefix): Self.write("starts-with", field, to: &json) { $0.string(prefix) }
        case .oneOf(let field, let values): Self.write("in", field, to: &json) { $0.strings(values) }
        case .noneOf(let field, let values): Self.write("not-in", field, to: &json) { $0.strings(values) }
        case .contentLengthRange(let range):
            json.array { json in
                json.string("content-length-range")
                json.integer(range.lowerBound)
                json.integer(range.upperBound)
            }
        }
    }

    private static func write(
        _ name: String, _ field: String, to json: inout JSONWriter, value: (inout JSONWriter) -> Void
    ) {
        json.array { json in
            json.string(name)
            json.string("$\(field)")
            value(&json)
        }
    }
}
