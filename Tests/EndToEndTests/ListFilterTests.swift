import ContractTesting
import Testing

/// The filters of lists, at the running program. The API knows the form of their values, and the store their places in
/// a statement; the contract names them for both.
@Suite(.deployment) struct ListFilterTests {
    /// The lists whose filters the API hands on by name.
    private static let lists = [
        "buckets", "storage-credentials", "grants", "groups", "quotas", "issuers", "api-keys", "audit", "tickets",
        "multipart-uploads",
    ]

    @Test func `a list takes every filter that the contract gives it`() async throws {
        let site = try Deployment.current
        let contract = try ContractDocument.shared.get()
        var taken = 0
        for list in Self.lists {
            let path = "/admin/v1/\(list)"
            let operation = try #require(contract.operation("GET", path))
            for parameter in operation.parameters.map({ contract.resolved($0) }) where parameter.in?.text == "query" {
                let name = try #require(parameter.name?.text)
                guard name != "pageSize" && name != "pageToken" else { continue }
                let value = Self.value(contract.resolved(parameter.schema))
                // What covers a key is asked for in one bucket.
                let further = name == "covers" ? "&bucket=photos" : ""
                let answer = try await site.admin.call("GET", "\(path)?\(name)=\(value)\(further)")
                #expect(answer.status == 200, "\(list), \(name): \(answer.text)")
                taken += 1
            }
        }
        #expect(taken > 30)
    }

    /// A value that fits a schema. The patterns are those of principals.
    private static func value(_ schema: JSONNode) -> String {
        if let word = schema["enum"]?.items.first?.text { return word }
        switch schema.format?.text ?? schema["type"]?.text {
        case "uuid": return "0198c5a1-7a3b-7c11-9f6e-3f1d2c4b5a69"
        case "date-time": return "2030-01-31T23:59:59Z"
        case "number": return "0.5"
        default: return schema.pattern == nil ? "x" : "user:alice"
        }
    }
}
