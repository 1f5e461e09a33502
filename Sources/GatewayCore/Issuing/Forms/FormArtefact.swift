import Foundation
import LibCrypto
import Signing

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
    /// - Throws: `unproven` if no store could read the policy, if the form does not send this policy, or if its length
    ///   range differs from the requested one.
    init(
        _ form: SignedPostForm, of request: PostPolicyRequest, binding: SchemeBinding
    ) throws(GatewayError) {
        self.request = request
        self.binding = binding
        guard form.fields.contains(where: { $0.isSame(as: NamedValue("policy", form.policyBase64)) }),
            let bytes = Base64.decode(form.policyBase64),
            let json = try? JSONSerialization.jsonObject(with: Data(bytes)) as? [String: Any],
            let end = json["expiration"] as? String,
            let expiration = try? Date(end.replacing(".000Z", with: "Z"), strategy: .iso8601),
            let list = json["conditions"] as? [Any], json.count == 2
        else { throw .unproven(.policy) }
        self.expiration = expiration
        var length: ClosedRange<Int64>?
        for item in list {
            if let exact = item as? [String: String], exact.count == 1, let (name, value) = exact.first {
                conditions[name.lowercased()] = .exactly(value)
            } else if let parts = item as? [Any], parts.count == 3, let word = parts[0] as? String {
                if word == "content-length-range", let least = parts[1] as? Int64, let most = parts[2] as? Int64,
                    least <= most
                {
                    length = least...most
                } else if let name = parts[1] as? String, name.utf8.first == UInt8(ascii: "$") {
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
    }

    private static func condition(_ word: String, _ value: Any) throws(GatewayError) -> Condition {
        switch (word, value) {
        case ("eq", let text as String): .exactly(text)
        case ("starts-with", let text as String): .startsWith(text)
        case ("in", let texts as [String]): .oneOf(texts)
        default: throw .unproven(.policy)
        }
    }

    var maxBytes: Int64? { length.upperBound }

    func isFor(_ key: ObjectKey, in bucket: BucketName) -> Bool {
        guard case .exactly(let name) = conditions["bucket"], name.isSameBytes(as: bucket.rawValue) else {
            return false
        }
        return switch (request.target, conditions["key"]) {
        case (.key(let wanted), .exactly(let text)): wanted == key && text.isSameBytes(as: key.rawValue)
        case (.below(let prefix), .startsWith(let text)):
            text.isSameBytes(as: prefix.rawValue) && key.rawValue.utf8.starts(with: text.utf8)
        default: false
        }
    }

    func isDead(at end: Date) -> Bool { expiration <= end }

    func binds(header: NamedValue, at place: Int) -> Bool {
        switch conditions[header.name] {
        case .exactly(let value): value.isSameBytes(as: header.value)
        // The decision covered each of these types.
        case .oneOf(let values):
            header.name == "content-type" && values.contains { $0.isSameBytes(as: header.value) }
                && values.count == request.contentTypes.count
                && zip(values, request.contentTypes).allSatisfy { $0.isSameBytes(as: $1) }
        case .startsWith, nil: false
        }
    }

    func binds(parameter: NamedValue, at place: Int) -> Bool { false }
}
