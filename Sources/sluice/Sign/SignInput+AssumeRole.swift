import Signing

extension SignInput.Inputs {
    /// A parameter of a service, which may be written as a number.
    struct Parameter: Decodable {
        let text: String

        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            text = try (try? container.decode(Int.self)).map(String.init) ?? container.decode(String.self)
        }
    }

    /// The service of temporary credentials.
    var serviceEndpoint: StoreEndpoint {
        get throws { try StoreEndpoint(try required(\.endpoint, .endpoint)) }
    }

    /// What is asked of it.
    var assumeRole: AssumeRole {
        get throws(SignFailure) {
            var rest = try required(\.params, .params).mapValues(\.text)
            guard let roleARN = rest.removeValue(forKey: "RoleArn"),
                let sessionName = rest.removeValue(forKey: "RoleSessionName")
            else {
                throw SignFailure(code: "InvalidInput", detail: "'inputs.params' lacks RoleArn or RoleSessionName.")
            }
            var call = AssumeRole(roleARN: roleARN, sessionName: sessionName)
            if let seconds = rest.removeValue(forKey: "DurationSeconds") {
                guard let number = Int(seconds), String(number) == seconds else {
                    throw SignFailure(code: "InvalidInput", detail: "'DurationSeconds' is not a number.")
                }
                call.durationSeconds = number
            }
            call.policy = rest.removeValue(forKey: "Policy")
            call.externalID = rest.removeValue(forKey: "ExternalId")
            guard rest.isEmpty else {
                throw SignFailure(
                    code: "InvalidInput", detail: "'inputs.params' holds what AssumeRole does not take."
                )
            }
            return call
        }
    }

    /// Sees that headers and body of the line are those that the signer writes.
    func agree(with signed: AuthorizedRequest) throws(SignFailure) {
        for header in allHeaders where header.name.lowercased() != "host" {
            guard signed.headers.contains(where: { $0.name == header.name.lowercased() && $0.value == header.value })
            else {
                throw SignFailure(code: "InvalidInput", detail: "Header '\(header.name)' is not what the signer sends.")
            }
        }
        guard body == nil || body == signed.body else {
            throw SignFailure(code: "InvalidInput", detail: "'inputs.body' is not what the signer sends.")
        }
    }

    /// Sees that the query of the line, if there is one, is that of the call.
    func agree(withQuery sent: [NamedValue]) throws(SignFailure) {
        guard query == nil || Set(allQuery) == Set(sent) else {
            throw SignFailure(code: "InvalidInput", detail: "'inputs.query' is not what the signer sends.")
        }
    }
}
