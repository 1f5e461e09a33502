import Signing

extension SignInput.Inputs {
    /// A parameter of a service, written as a text or as a number.
    struct Parameter: Decodable {
        let text: String

        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            text = try (try? container.decode(Int.self)).map(String.init) ?? container.decode(String.self)
        }
    }

    /// The endpoint of the service that issues temporary credentials.
    var serviceEndpoint: StoreEndpoint {
        get throws { try StoreEndpoint(try required(\.endpoint, .endpoint)) }
    }

    /// The AssumeRole call that the parameters describe.
    var assumeRole: AssumeRole {
        get throws(LineFailure) {
            var rest = try required(\.params, .params).mapValues(\.text)
            guard let roleARN = rest.removeValue(forKey: "RoleArn"),
                let sessionName = rest.removeValue(forKey: "RoleSessionName")
            else {
                throw LineFailure(code: "InvalidInput", detail: "'inputs.params' lacks RoleArn or RoleSessionName.")
            }
            var call = AssumeRole(roleARN: roleARN, sessionName: sessionName)
            if let seconds = rest.removeValue(forKey: "DurationSeconds") {
                guard let number = Int(seconds), String(number) == seconds else {
                    throw LineFailure(code: "InvalidInput", detail: "'DurationSeconds' is not a number.")
                }
                call.durationSeconds = number
            }
            call.policy = rest.removeValue(forKey: "Policy")
            call.externalID = rest.removeValue(forKey: "ExternalId")
            guard rest.isEmpty else {
                throw LineFailure(
                    code: "InvalidInput", detail: "'inputs.params' contains a parameter that AssumeRole does not have."
                )
            }
            return call
        }
    }

    /// Checks that the headers and the body in the line are those that the signer sends.
    func agree(with signed: AuthorizedRequest) throws(LineFailure) {
        for header in allHeaders where header.name.lowercased() != "host" {
            guard signed.headers.contains(where: { $0.name == header.name.lowercased() && $0.value == header.value })
            else {
                throw LineFailure(code: "InvalidInput", detail: "Header '\(header.name)' is not what the signer sends.")
            }
        }
        guard body == nil || body == signed.body else {
            throw LineFailure(code: "InvalidInput", detail: "'inputs.body' is not what the signer sends.")
        }
    }

    /// Checks that the query in the line, if it has one, is that of the call.
    func agree(withQuery sent: [NamedValue]) throws(LineFailure) {
        guard query == nil || Set(allQuery) == Set(sent) else {
            throw LineFailure(code: "InvalidInput", detail: "'inputs.query' is not what the signer sends.")
        }
    }
}
