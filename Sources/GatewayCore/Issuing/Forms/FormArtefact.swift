import Bytes
import FoundationEssentials
import Signing
import StrictJSON

/// A browser form, read back from its signed policy.
struct FormArtefact: Artefact {
    /// One condition of the policy.
    private enum Condition {
        case exactly(String)
        case startsWith(String)
        case oneOf([String])
    }

    let binding: SchemeBinding
    let method = IssueRequest.Method.post.rawValue
    let parameterCount = 0
    private let request: PostPolicyRequest
    private let expiration: Date
    private let length: ClosedRange<Int64>
    private var conditions: [String: Condition] = [:]

    /// Reads the policy from the exact bytes that were signed.
    ///
    /// - Parameters:
    ///   - form: The signed form.
    ///   - request: The request for the form.
    ///   - binding: The capabilities of the scheme that signed.
    /// - Throws: `unproven` if no store could read the policy, if the form does not send this policy, if its length
    ///   range differs from the requested one, or if it lets the holder choose an ACL.
    init(
        _ form: SignedPostForm, of request: PostPolicyRequest, binding: SchemeBinding
    ) throws(GatewayError) {
        self.request = request
        self.binding = binding
        guard form.fields.contains(where: { $0.isSame(as: NamedValue("policy", form.policyBase64)) }),
            let bytes = Base64.decode(form.policyBase64),
            let json = try? JSONReader.read(bytes), case .object(let members) = json, members.count == 2,
            case .string(let end) = json["expiration"],
            let expiration = try? Date(Self.wholeSeconds(end), strategy: .iso8601),
            case .array(let list) = json["conditions"]
        else { throw .unproven(.policy) }
        self.expiration = expiration
        var length: ClosedRange<Int64>?
        for item in list {
            if case .object(let exact) = item, exact.count == 1, case .string(let value) = exact[0].value {
                conditions[exact[0].name.lowercased()] = .exactly(value)
            } else if case .array(let parts) = item, parts.count == 3, case .string(let word) = parts[0] {
                if word == "content-length-range", let least = Self.integer(parts[1]),
                    let most = Self.integer(parts[2]), least <= most
                {
                    length = least...most
                } else if case .string(let name) = parts[1], name.utf8.first == UInt8(ascii: "$") {
                    conditions[String(Substring(name.utf8.dropFirst())).lowercased()] = try Self.condition(
                        word, parts[2])
                } else {
                    throw .unproven(.policy)
                }
            } else {
                throw .unproven(.policy)
            }
        }
        guard let length, length == request.contentLength else { throw .unproven(.size) }
        self.length = length
        if let accessList = binding.form?.accessList, !isExact(accessList) { throw .unproven(.policy) }
    }

    /// A time without the fraction that some schemes write, which is always zero.
    private static func wholeSeconds(_ time: String) -> String {
        guard time.utf8.suffix(5).elementsEqual(".000Z".utf8) else { return time }
        return String(Substring(time.utf8.dropLast(5))) + "Z"
    }

    private static func integer(_ value: JSONValue) -> Int64? {
        guard case .number(let digits) = value else { return nil }
        return Int64(digits)
    }

    private static func condition(_ word: String, _ value: JSONValue) throws(GatewayError) -> Condition {
        switch (word, value) {
        case ("eq", .string(let text)): return .exactly(text)
        case ("starts-with", .string(let text)): return .startsWith(text)
        case ("in", .array):
            guard let texts = value.strings else { throw .unproven(.policy) }
            return .oneOf(texts)
        default: throw .unproven(.policy)
        }
    }

    var maxBytes: Int64? { length.upperBound }

    func isFor(_ key: String, in bucket: BucketName) -> Bool {
        guard case .exactly(let name) = conditions["bucket"], name.isSameBytes(as: bucket.rawValue) else {
            return false
        }
        return switch (request.target, conditions["key"]) {
        case (.key(let wanted), .exactly(let text)): wanted.rawValue.isSameBytes(as: key) && text.isSameBytes(as: key)
        case (.below(let prefix), .startsWith(let text)):
            text.isSameBytes(as: prefix.rawValue) && key.utf8.starts(with: text.utf8)
        default: false
        }
    }

    func isDead(at end: Date) -> Bool { expiration <= end }

    func binds(header: NamedValue, at place: Int) -> Bool {
        guard header.name == "content-type" else { return isExact(header) }
        guard let field = binding.form?.typeField else { return false }
        return isExact(NamedValue(field, header.value)) || isOneOfTypes(field, header.value)
    }

    private func isExact(_ field: NamedValue) -> Bool {
        guard case .exactly(let value) = conditions[field.name.lowercased()] else { return false }
        return value.isSameBytes(as: field.value)
    }

    /// Whether the field may have exactly the types that the decision covered, and the given one is among them.
    private func isOneOfTypes(_ field: String, _ type: String) -> Bool {
        guard case .oneOf(let values) = conditions[field.lowercased()] else { return false }
        return values.contains { $0.isSameBytes(as: type) } && values.count == request.contentTypes.count
            && zip(values, request.contentTypes).allSatisfy { $0.isSameBytes(as: $1) }
    }

    func binds(parameter: NamedValue, at place: Int) -> Bool { false }
}
