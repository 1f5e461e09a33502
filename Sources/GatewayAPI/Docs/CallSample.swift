import ContractModel

/// How to call an operation, made from the contract's example.
struct CallSample {
    private let method: String
    private let path: String
    private let type: String
    /// The body as it is sent.
    private let body: String?
    /// The same, laid out for readers where that is JavaScript too.
    private let literal: String
    private let needsKey: Bool
    /// What the variables of the shell are called that hold the address and the credential.
    private let urlName, keyName: String
    private let requiredFields: [(name: String, value: String)]

    /// Reads the operation and the first example of its body.
    init(_ operation: ContractModel.Operation) {
        method = operation.method
        path = Self.filled(operation)
        let content = operation.request.first { ($0.type.hasSuffix("json") || $0.isForm) && !$0.examples.isEmpty }
        let example = content?.examples.first?.value
        type = content?.type ?? ""
        body = content.flatMap { content in example.map { content.body($0) } }
        literal =
            content?.isForm == true
            ? Self.quoted(body ?? "") : "JSON.stringify(\(example?.json(isIndented: true) ?? ""))"
        needsKey = !["public", "ticket", "web-identity"].contains(operation.access)
        let isForAdmins = operation.isForAdmins
        urlName = isForAdmins ? "SLUICE_ADMIN_URL" : "SLUICE_URL"
        keyName =
            operation.access == "store"
            ? "SLUICE_EVENT_SECRET" : isForAdmins ? "SLUICE_ADMIN_KEY" : "SLUICE_KEY"
        requiredFields = operation.parameters.filter { $0.place == "header" && $0.isRequired }
            .map { (name: $0.name, value: Self.example($0)) }
    }

    /// The samples by the names of their languages.
    var all: [(language: String, text: String)] {
        [("curl", curl), ("JavaScript", javaScript), ("Python", python), ("Swift", swift)]
    }

    /// The path with values in place of its parameters, and what the query must have.
    private static func filled(_ operation: ContractModel.Operation) -> String {
        var path = operation.path
        for parameter in operation.parameters where parameter.place == "path" {
            path = path.replacing("{\(parameter.name)}", with: example(parameter))
        }
        let query = operation.parameters.filter { $0.place == "query" && $0.isRequired }
            .map { "\($0.name)=\(example($0))" }
        return path + (query.isEmpty ? "" : "?" + query.joined(separator: "&"))
    }

    private static func example(_ parameter: ContractModel.Parameter) -> String {
        switch parameter.name {
        case "id": "0198c5a1-7a3b-7c11-9f6e-3f1d2c4b5a69"
        case "bucket", "Sluice-Bucket": "photos"
        case "If-Match": "*"
        case "key": "uploads/cat.png"
        case "prefix": "uploads/"
        case "group": "group:staff"
        case "member", "principal": "user:alice"
        case "kind": "access-denied"
        case "path": "objects/batch"
        case "scope": "photos/uploads/"
        default: parameter.schema["enum"]?.items.first?.text ?? parameter.name.uppercased()
        }
    }

    private var fields: [(name: String, value: String)] {
        body == nil ? requiredFields : requiredFields + [(name: "Content-Type", value: type)]
    }

    private var curl: String {
        var lines = ["curl -sS \(method == "GET" ? "" : "-X \(method) ")\"$\(urlName)\"\(Self.shell(path))"]
        if needsKey { lines.append(#"-H @<(printf 'Authorization: Bearer %s\n' "$\#(keyName)")"#) }
        lines += fields.map { "-H \(Self.shell("\($0.name): \($0.value)"))" }
        if let body { lines.append("-d \(Self.shell(body))") }
        return lines.joined(separator: " \\\n  ")
    }

    private var javaScript: String {
        let headers =
            (needsKey ? ["authorization: `Bearer ${key}`"] : [])
            + fields.map { "\"\($0.name.lowercased())\": \"\($0.value)\"" }
        var options: [String] = method == "GET" ? [] : ["method: \"\(method)\""]
        if !headers.isEmpty { options.append("headers: { \(headers.joined(separator: ", ")) }") }
        if body != nil { options.append("body: \(literal)") }
        let rest = options.isEmpty ? "" : ", {\n  \(options.joined(separator: ",\n  ")),\n}"
        return """
            const answer = await fetch(gateway + \(Self.quoted(path))\(rest));
            if (!answer.ok) throw new Error((await answer.json()).code);
            """
    }

    private var python: String {
        let headers =
            (needsKey ? ["\"Authorization\": f\"Bearer {key}\""] : [])
            + fields.map { "\"\($0.name)\": \"\($0.value)\"" }
        let data = body.map { ", data=\(Self.quoted(Self.escaped($0))).encode()" } ?? ""
        return """
            request = urllib.request.Request(
                gateway + \(Self.quoted(path)), method="\(method)"\(data),
                headers={\(headers.joined(separator: ", "))})
            with urllib.request.urlopen(request) as answer:
                print(answer.status, answer.read().decode())
            """
    }

    private var swift: String {
        var lines = [
            "var request = URLRequest(url: URL(string: gateway + \(Self.quoted(path)))!)",
            "request.httpMethod = \"\(method)\"",
        ]
        if needsKey { lines.append(#"request.setValue("Bearer \(key)", forHTTPHeaderField: "Authorization")"#) }
        lines += fields.map { "request.setValue(\"\($0.value)\", forHTTPHeaderField: \"\($0.name)\")" }
        if let body { lines.append("request.httpBody = Data(#\"\(body)\"#.utf8)") }
        return (lines + ["let (data, answer) = try await URLSession.shared.data(for: request)"])
            .joined(separator: "\n")
    }

    private static func shell(_ text: String) -> String { "'\(text.replacing("'", with: #"'\''"#))'" }
    private static func quoted(_ text: String) -> String { "\"\(text)\"" }
    private static func escaped(_ text: String) -> String {
        text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"")
    }
}
