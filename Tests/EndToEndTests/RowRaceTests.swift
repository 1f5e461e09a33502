import Testing

/// Changes of one row by several admins at once.
@Suite(.deployment, .timeLimit(.minutes(2))) struct RowRaceTests {
    @Test func `changes that take any state are all made`() async throws {
        let site = try Deployment.current
        try await site.makeBucket("raced")
        let grant = try await site.grant(["PutObject"], to: "user:raced", in: "raced")
        let path = "/admin/v1/grants/\(grant)"
        for round in 1...20 {
            let changes: [JSON] = [
                ["note": "\(round)"], ["conditions": ["maxTTL": .number(round)]],
                ["conditions": ["maxBytes": .number(round)]],
            ]
            try await withThrowingTaskGroup(of: Answer.self) { group in
                for change in changes {
                    group.addTask { try await site.admin.call("PATCH", path, change, headers: [("If-Match", "*")]) }
                }
                for try await answer in group { #expect(answer.status == 200, "\(answer.text)") }
            }
            let row = try await site.admin.call("GET", path).json
            #expect(
                row["note"] == "\(round)" && row["conditions"]["maxTTL"].integer == round
                    && row["conditions"]["maxBytes"].integer == round, "\(row)")
        }
    }
}
