import ContractTesting
import Testing

/// The access rules of the contract, checked at the running program.
@Suite(.deployment) struct ContractAccessTests {
    @Test func `an auditor changes nothing and an app user reads nothing, by any operation there is`() async throws {
        let site = try Deployment.current
        let auditor = try await site.makeUser("reading-auditor", roles: ["auditor"]).client
        let user = try await site.makeUser("mere-user").client
        let changes = "SELECT count(*) FROM admin_audit"
        let before = try await site.number(changes)
        var refused = 0
        for operation in try ContractDocument.shared.get().operations {
            let callers: [APIClient]
            switch operation.access {
            case "admin": callers = [auditor, user]
            case "auditor": callers = [user]
            default: continue
            }
            let body: JSON? = operation.body.requestBody == nil ? nil : [:]
            for caller in callers {
                let answer = try await caller.call(
                    operation.method, sample(operation.path), body, headers: [(name: "If-Match", value: "*")])
                #expect(answer.status == 403, "\(operation.name): \(answer.text)")
                #expect(answer.code == "AccessDenied" && answer.json["type"] == "/problems/role-required")
                refused += 1
            }
        }
        #expect(refused > 60)
        #expect(try await site.number(changes) == before)
    }

    /// A path that matches the template.
    private func sample(_ template: String) -> String {
        template.replacing("{bucket}", with: "some-bucket").replacing("{group}", with: "group:g")
            .replacing("{member}", with: "user:u").replacing("{id}", with: "0198c5a1-7a3b-7c11-9f6e-3f1d2c4b5a69")
    }
}
