import Signing

/// The reason why a line could not be processed: a stable code, and a sentence for the user.
struct LineFailure: Error, Encodable {
    let code: String
    let detail: String
}

extension LineFailure {
    /// Describes any error without repeating a value of the line, which may be a secret.
    init(_ error: any Error) {
        switch error {
        case let failure as LineFailure:
            self = failure
        case let error as SigningError:
            self.init(code: error.code, detail: error.detail)
        case DecodingError.keyNotFound(let key, let context):
            self.init(code: "InvalidInput", detail: "'\(Self.path(context.codingPath + [key]))' is absent.")
        case DecodingError.typeMismatch(_, let context), DecodingError.valueNotFound(_, let context),
            DecodingError.dataCorrupted(let context):
            let path = Self.path(context.codingPath)
            self.init(
                code: path.isEmpty ? "MalformedLine" : "InvalidInput",
                detail: path.isEmpty ? "The line is not a JSON object." : "'\(path)' has a value of the wrong kind."
            )
        default:
            self.init(code: "MalformedLine", detail: "The line cannot be read.")
        }
    }

    private static func path(_ keys: [any CodingKey]) -> String {
        keys.map(\.stringValue).joined(separator: ".")
    }
}
