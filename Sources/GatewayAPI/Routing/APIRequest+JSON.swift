import HTTPServing
import HTTPTypes
import Bytes
import StrictJSON

extension APIRequest {
    /// Reads the body as one strict JSON object.
    ///
    /// - Parameter other: A media type that is accepted besides `application/json`.
    func jsonObject(orOf other: String? = nil) throws -> JSONObject {
        try JSONObject(jsonText(orOf: other))
    }

    /// Reads the body as one strict JSON object; an absent body counts as an object without members.
    func jsonObjectIfAny() throws -> JSONObject {
        if case .collected(let bytes) = body, bytes.isEmpty { return try JSONObject(.object([])) }
        return try jsonObject()
    }

    /// Reads the body as one strict JSON value.
    ///
    /// - Parameter other: A media type that is accepted besides `application/json`.
    func jsonValue(orOf other: String? = nil) throws -> JSONValue {
        try jsonText(orOf: other).root.value
    }

    private func jsonText(orOf other: String?) throws -> JSONText {
        guard isJSON || [Self.jsonType, other].contains(Self.essence(of: headers[.contentType] ?? "")) else {
            throw APIError.unsupportedMediaType
        }
        guard case .collected(let bytes) = body else { preconditionFailure("A route that reads JSON collects it.") }
        return try JSONText.body(bytes)
    }

    private static let jsonType = "application/json"

    /// Whether the content type is literally that of JSON, as for most requests.
    private var isJSON: Bool {
        guard let type = headers.onlyValue(of: .contentType) else { return false }
        return Self.jsonType.isSameBytes(as: type.span)
    }

    /// Returns a media type without its parameters, in lower case.
    private static func essence(of type: String) -> String {
        let essence = type.split(separator: ";", maxSplits: 1).first?.trimming(while: { $0 == " " || $0 == "\t" })
        return essence?.lowercased() ?? ""
    }
}
