import GatewayCore
import HTTPServing
import HTTPTypes
import Bytes

/// The form of `AssumeRoleWithWebIdentity`, API version 2011-06-15.
///
/// A parameter that would narrow the credentials further and cannot be obeyed is refused, never passed over: `Policy`
/// and everything that is not listed here.
struct WebIdentityForm {
    /// Longest form in bytes. The credential is in it, and the server collects no more before the caller is known.
    static let maxBytes = 16_384

    /// The bucket and the prefix.
    let role: RoleARN
    /// Name that the client gives to its session: 2 to 64 of the characters that AWS admits. The answer repeats it.
    let sessionName: String
    /// The token of the user, without white space at its end, which files have.
    let token: Secret<String>
    /// Requested lifetime in seconds, if any.
    let duration: Int?

    private static let names: Set<String> = [
        "Action", "Version", "RoleArn", "RoleSessionName", "WebIdentityToken", "DurationSeconds", "Policy",
    ]

    /// Reads the form in the body of a request.
    ///
    /// - Throws: ``GatewayError/invalidArgument(field:reason:)``, whose field is the name of the parameter.
    init(_ request: APIRequest) throws(GatewayError) {
        guard !request.headers.nameContentCoding else {
            throw .invalidArgument(field: "Action", reason: "Send the parameters with the content coding 'identity'.")
        }
        let type = (request.headers[.contentType] ?? "").utf8.prefix { $0 != UInt8(ascii: ";") }
        guard case .collected(let bytes) = request.body,
            Substring(type).trimming(while: { $0 == " " }).lowercased() == "application/x-www-form-urlencoded"
        else {
            throw .invalidArgument(
                field: "Action", reason: "Send the parameters as 'application/x-www-form-urlencoded'.")
        }
        try self.init(bytes)
    }

    /// Reads a form.
    init(_ bytes: [UInt8]) throws(GatewayError) {
        let fields = try FormFields(bytes)
        func required(_ name: String) throws(GatewayError) -> String {
            guard let text = fields[name], !text.isEmpty else {
                throw .invalidArgument(field: name, reason: "The parameter '\(name)' is required.")
            }
            return text
        }
        guard try required("Action") == "AssumeRoleWithWebIdentity" else {
            throw .invalidArgument(field: "Action", reason: "The only action is AssumeRoleWithWebIdentity.")
        }
        guard try required("Version") == "2011-06-15" else {
            throw .invalidArgument(field: "Version", reason: "The version must be 2011-06-15.")
        }
        guard fields["Policy"] == nil else {
            throw .invalidArgument(
                field: "Policy", reason: "A policy cannot be obeyed. Name a narrower prefix in the role instead.")
        }
        if let name = fields.names.first(where: { !Self.names.contains($0) }) {
            throw .invalidArgument(
                field: String(name.prefix(64)), reason: "The parameter cannot be obeyed. Leave it out.")
        }
        role = try RoleARN(required("RoleArn"))
        sessionName = try required("RoleSessionName")
        guard sessionName.consists(of: .alphanumeric.union("_+=,.@-"), count: 2...64) else {
            throw .invalidArgument(
                field: "RoleSessionName",
                reason: "The name must be 2 to 64 letters, digits and characters of '_+=,.@-'.")
        }
        let text = try required("WebIdentityToken")[...].trimming {
            $0 == "\n" || $0 == "\r" || $0 == "\r\n" || $0 == " "
        }
        guard 4...TokenAuthenticator.longestTokenBytes ~= text.utf8.count, BearerToken.isToken(Array(text.utf8).span)
        else {
            throw .unauthenticated(
                reason: "The web identity token is not a token.",
                cause: Cause(.malformedToken, "the web identity token contains other characters"))
        }
        token = Secret(String(text))
        duration = try fields["DurationSeconds"].map { (text) throws(GatewayError) in
            guard let seconds = Int(text) else {
                throw .invalidArgument(field: "DurationSeconds", reason: "The duration must be a number of seconds.")
            }
            return seconds
        }
    }

    /// Reads the token of a request, before its caller is known.
    @Sendable static func credential(of request: APIRequest) throws(GatewayError) -> Secret<String> {
        try WebIdentityForm(request).token
    }
}

/// The pairs of an `application/x-www-form-urlencoded` body, each name once.
struct FormFields {
    private let values: [String: String]

    /// The names, in no order.
    var names: Dictionary<String, String>.Keys { values.keys }

    subscript(name: String) -> String? { values[name] }

    /// Most pairs of a form.
    private static let maxCount = 32

    /// Reads a form. `+` is a space; raw bytes must be visible ASCII; the decoded text must be UTF-8.
    ///
    /// - Throws: ``GatewayError/invalidArgument(field:reason:)`` if the form can be read in no way or in two.
    init(_ bytes: [UInt8]) throws(GatewayError) {
        var values: [String: String] = [:]
        for pair in bytes.split(separator: UInt8(ascii: "&")) {
            let end = pair.firstIndex(of: UInt8(ascii: "=")) ?? pair.endIndex
            guard let name = Self.decoded(pair[..<end]), let value = Self.decoded(pair[end...].dropFirst()) else {
                throw Self.refusal("The form cannot be decoded.")
            }
            guard values.updateValue(value, forKey: name) == nil else {
                throw Self.refusal("The form has a parameter twice.")
            }
            guard values.count <= Self.maxCount else { throw Self.refusal("The form has too many parameters.") }
        }
        self.values = values
    }

    private static func decoded(_ bytes: ArraySlice<UInt8>) -> String? {
        guard bytes.allSatisfy(ByteSet.visible.contains) else { return nil }
        return PercentEncoding.text(bytes, plusIsSpace: true)
    }

    private static func refusal(_ reason: String) -> GatewayError {
        .invalidArgument(field: "Action", reason: reason)
    }
}
