import Foundation

extension ContractDocument {
    /// Header fields that any answer may have under HTTP or the Fetch standard, whatever the contract says.
    private static let generalFields: Set<String> = [
        "content-type", "content-length", "date", "connection", "transfer-encoding", "vary",
        "access-control-allow-origin", "access-control-allow-methods", "access-control-allow-headers",
        "access-control-max-age", "access-control-expose-headers",
    ]

    /// Statuses of requests that match no operation.
    private static let statusesOfNone: Set<Int> = [400, 404, 405, 408, 413, 414, 417, 431, 500, 503]

    /// Lists what an answer has that the contract does not describe, and what it lacks that the contract requires, one
    /// line each.
    ///
    /// The request is checked against the contract too, if it was accepted.
    public func flaws(of exchange: Exchange) -> [String] {
        let path = exchange.target.prefix { $0 != "?" }
        let method = exchange.method == "HEAD" ? "GET" : exchange.method
        let paths = Set(operations.map(\.path)).filter { Self.matches(path, $0) }
        let best = paths.max { Self.rank($0) < Self.rank($1) }
        let flaws: [String]
        if let best, let operation = operation(method, best) {
            flaws = self.flaws(of: exchange, to: operation)
        } else if exchange.method == "OPTIONS", best != nil, exchange.status == 204 {
            flaws = fieldFlaws(of: exchange, ["X-Request-Id": reference("headers/RequestId"), "Allow": .bool(true)])
        } else {
            flaws = problemFlaws(of: exchange)
        }
        return flaws.map { "\(exchange.method) \(exchange.target): \(exchange.status): \($0)" }
    }

    /// Lists what an answer of an operation has that the contract does not describe, and what it lacks that the
    /// contract requires.
    public func flaws(of exchange: Exchange, to operation: Operation) -> [String] {
        if isNoSuchRoute(exchange) { return problemFlaws(of: exchange) }
        guard let described = operation.responses[String(exchange.status)] else {
            return ["\(exchange.status) is not described for \(operation.name)"]
        }
        let response = resolved(described)
        var flaws = fieldFlaws(of: exchange, response.headers?.members ?? [:])
        flaws += contentFlaws(of: exchange, response.content)
        if 200..<300 ~= exchange.status, !tellsRefusal(exchange) { flaws += requestFlaws(of: exchange, operation) }
        return flaws
    }

    /// Whether the body of an answer reports a refusal that the status does not show.
    private func tellsRefusal(_ exchange: Exchange) -> Bool {
        guard let value = try? JSONNode(json: exchange.body) else { return false }
        if let told = value.StatusCode?.integer { return told != exchange.status }
        return (value.results?.items ?? []).contains { ($0.status?.integer ?? 0) >= 400 }
    }

    /// Whether the path is not served. A listener need not serve every path of the contract.
    private func isNoSuchRoute(_ exchange: Exchange) -> Bool {
        exchange.status == 404 && (try? JSONNode(json: exchange.body))?.code?.text == "NoSuchRoute"
    }

    private func reference(_ name: String) -> JSONNode { .object(["$ref": .string("#/components/\(name)")]) }

    private func problemFlaws(of exchange: Exchange) -> [String] {
        guard Self.statusesOfNone.contains(exchange.status) else { return ["such a request has no operation"] }
        var fields = ["X-Request-Id": reference("headers/RequestId")]
        if exchange.status == 405 { fields["Allow"] = reference("headers/Allow") }
        if exchange.status == 503 { fields["Retry-After"] = reference("headers/RetryAfter") }
        let content = JSONNode.object([
            "application/problem+json": .object(["schema": reference("schemas/Problem")])
        ])
        return fieldFlaws(of: exchange, fields) + contentFlaws(of: exchange, content)
    }

    private func contentFlaws(of exchange: Exchange, _ content: JSONNode?) -> [String] {
        guard exchange.method != "HEAD" else { return [] }
        guard let content, !content.members.isEmpty else {
            return exchange.body.isEmpty ? [] : ["a body is not described"]
        }
        guard let type = exchange.type else { return exchange.body.isEmpty ? [] : ["the body has no type"] }
        guard let media = content[type] ?? content["*/*"] else { return ["a body of type \(type) is not described"] }
        if type == Self.ndjson { return lineFlaws(of: exchange.body, against: media.schema) }
        guard Self.isJSON(type) else { return [] }
        guard let value = try? JSONNode(json: exchange.body) else { return ["the body is no JSON"] }
        var flaws = schemas.flaws(of: value, against: media.schema)
        if type == "application/problem+json", value.status?.integer != exchange.status {
            flaws.append("the problem's status is \(value.status ?? .null)")
        }
        if let id = value.requestID, type == "application/problem+json", id.text != exchange["X-Request-Id"] {
            flaws.append("the problem's request id is another than the header's")
        }
        return flaws
    }

    /// The type in which every line is a value of the schema. Empty or truncated lines are ignored.
    private static let ndjson = "application/x-ndjson"

    private func lineFlaws(of body: [UInt8], against schema: JSONNode?) -> [String] {
        let lines = body.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).dropLast()
        return lines.flatMap { line in
            if line.allSatisfy({ $0 <= 0x20 }) { return [String]() }
            guard let value = try? JSONNode(json: Array(line)) else { return ["a line is no JSON"] }
            return schemas.flaws(of: value, against: schema)
        }
    }

    private func fieldFlaws(of exchange: Exchange, _ described: [String: JSONNode]) -> [String] {
        var flaws: [String] = []
        let names = Dictionary(described.map { ($0.key.lowercased(), $0.value) }) { $1 }
        for (name, value) in exchange.headers where !Self.generalFields.contains(name.lowercased()) {
            guard let header = names[name.lowercased()] else {
                // An answer that is not to be stored needs no mention of it.
                if name.lowercased() == "cache-control", value == "no-store" { continue }
                flaws.append("the header \(name) is not described")
                continue
            }
            guard let schema = resolved(header).schema else { continue }
            let node = Int(value).map { JSONNode.integer($0) } ?? .string(value)
            let text = schemas.flaws(of: .string(value), against: schema)
            if !text.isEmpty, !schemas.flaws(of: node, against: schema).isEmpty {
                flaws += text.map { "header \(name): \($0)" }
            }
        }
        for (name, header) in described where exchange[name] == nil && resolved(header).required?.flag == true {
            flaws.append("the header \(name) is missing")
        }
        return flaws
    }

    /// Checks that an accepted request meets the contract.
    private func requestFlaws(of exchange: Exchange, _ operation: Operation) -> [String] {
        var flaws: [String] = []
        let parameters = operation.parameters.map { resolved($0) }
        let known = Set(parameters.filter { $0.in?.text == "query" }.compactMap { $0.name?.text })
        let query = exchange.target.split(separator: "?", maxSplits: 1).dropFirst().first ?? ""
        for pair in query.split(separator: "&") {
            // An object has its members in brackets.
            let name = (String(pair.prefix { $0 != "=" }).removingPercentEncoding ?? "").prefix { $0 != "[" }
            if !known.contains(String(name)) {
                flaws.append("the query parameter '\(name)' is not described, but accepted")
            }
        }
        let request = resolved(operation.body.requestBody)
        guard !exchange.sent.isEmpty else { return flaws }
        // A merge patch may also come as plain JSON, as the contract's description says.
        let patch = operation.method == "PATCH" ? request.content?["application/merge-patch+json"] : nil
        guard let type = exchange.sentType.map(Exchange.essence),
            let media = request.content?[type] ?? (type == "application/json" ? patch : nil)
        else {
            return flaws + ["a request of type \(exchange.sentType ?? "-") is not described, but accepted"]
        }
        if type == Self.ndjson { return flaws + lineFlaws(of: exchange.sent, against: media.schema) }
        guard Self.isJSON(type), let value = try? JSONNode(json: exchange.sent) else { return flaws }
        let objections = schemas.flaws(of: value, against: media.schema)
        // A member that is null counts as absent; in a merge patch it removes.
        guard !objections.isEmpty, !schemas.flaws(of: value.withoutNulls, against: media.schema).isEmpty else {
            return flaws
        }
        return flaws + objections.map { "the request was accepted, but \($0)" }
    }

    /// Whether a body of a media type is one JSON value. NDJSON has many.
    private static func isJSON(_ type: String) -> Bool {
        type == "application/json" || type.hasSuffix("+json")
    }

    /// Whether a path matches a template. The last parameter of an object path matches everything that is left.
    static func matches(_ path: some StringProtocol, _ template: String) -> Bool {
        let segments = path.split(separator: "/", omittingEmptySubsequences: false)
        let wanted = template.split(separator: "/", omittingEmptySubsequences: false)
        let takesRest = ["{key}", "{file}", "{scope}", "{path}"].contains(wanted.last)
        guard segments.count == wanted.count || (segments.count > wanted.count && takesRest) else { return false }
        return zip(segments, wanted).allSatisfy { segment, wanted in
            let segment = segment.removingPercentEncoding ?? String(segment)
            guard wanted.hasPrefix("{"), let end = wanted.firstIndex(of: "}") else { return segment == wanted }
            let verb = wanted[wanted.index(after: end)...]
            return segment.count > verb.count && segment.hasSuffix(verb)
        }
    }

    /// The rank of a template. More specific templates take precedence.
    private static func rank(_ template: String) -> Int {
        template.split(separator: "/").reduce(0) { $0 * 3 + ($1.hasSuffix("}") ? 0 : $1.hasPrefix("{") ? 1 : 2) }
    }
}
