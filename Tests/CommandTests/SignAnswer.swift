import Foundation

/// An answer of `sluice sign`, as read from its JSON.
struct SignAnswer: Decodable, Equatable {
    struct Failure: Decodable, Equatable {
        var code: String
        var detail: String
    }

    var name: String?
    var url: String?
    var path: String?
    var query: [[String]]?
    var canonicalRequest: String?
    var stringToSign: String?
    var signature: String?
    var authorization: String?
    var body: String?
    var fields: [String: String]?
    var policyBase64: String?
    var requiredHeaders: [String: String]?
    var error: Failure?

    /// The exit status and the answers of the built program for some lines of input.
    static func of(_ input: Data) throws -> (status: Int32, answers: [SignAnswer]) {
        let result = try Command.run(["sign"], input: input)
        let answers = try result.output.split(separator: "\n").map {
            try JSONDecoder().decode(SignAnswer.self, from: Data($0.utf8))
        }
        return (result.status, answers)
    }
}
