import ContractTesting
import Foundation
import TestSupport
import Testing

/// Sends what schemathesis derives from the contract to a gateway: requests as described, and requests that break each
/// rule, alone and in sequences. `Schemathesis` holds its settings.
@Suite(.python(with: "schemathesis"), .serialized, .timeLimit(.minutes(30)))
struct SchemathesisTests {
    /// The callers. Each asks for operations that mean something to it: that all others are refused is walked by
    /// `ContractAccessTests`, and generating bodies that nobody reads would take most of the time.
    enum Asker: String, CaseIterable, Sendable {
        /// Operations for admins.
        case admin
        /// What auditors may read.
        case auditor
        /// Everything that is not for admins.
        case user

        fileprivate func asks(for operation: ContractDocument.Operation) -> Bool {
            let isForAdmins = operation.path.hasPrefix("/admin/")
            return switch self {
            case .admin: isForAdmins
            case .auditor: isForAdmins && operation.method == "GET"
            case .user: !isForAdmins
            }
        }

        fileprivate var filter: [String] {
            switch self {
            case .admin: ["--include-path-regex", "^/admin/"]
            case .auditor:
                ["--include-path-regex", "^/admin/"]
                    + ["POST", "PUT", "PATCH", "DELETE"].flatMap { ["--exclude-method", $0] }
            case .user: ["--exclude-path-regex", "^/admin/"]
            }
        }
    }

    @Test("finds no answer that the contract does not describe", arguments: Asker.allCases)
    func holds(asker: Asker) async throws {
        let environment = ProcessInfo.processInfo.environment
        let python = try Python.path
        let folder = try #require(
            Bundle.module.url(forResource: "Schemathesis", withExtension: nil), "the hooks are a resource")
        let seed = environment["SLUICE_TEST_SEED"] ?? "\(UInt32.random(in: 0..<1 << 31))"
        let examples = environment["SLUICE_TEST_CONTRACT_EXAMPLES"] ?? "3"
        let contract = ContractDocument.repository.appending(path: "openapi/sluice.yaml").path(percentEncoded: false)
        try await Deployment.with { deployment in
            let client = try await deployment.furnish(for: asker)
            let before = try await deployment.number(Self.changes)
            let report = FileManager.default.temporaryDirectory.appending(path: "contract-\(UUID().uuidString).json")
            defer { try? FileManager.default.removeItem(at: report) }
            let command =
                [
                    python, "-B", "-m", "schemathesis.cli",
                    "--config-file", folder.appending(path: "schemathesis.toml").path(percentEncoded: false),
                    "run", contract, "--url", "http://127.0.0.1:\(client.port)",
                    "--header", "Authorization: Bearer \(client.token)", "--checks", "all", "--workers", "1",
                    "--seed", seed, "--max-examples", examples, "--no-color",
                    "--report", "json", "--report-json-path", report.path(percentEncoded: false),
                ] + asker.filter
            let process = try RunningProcess(
                command,
                environment: [
                    "PYTHONPATH": folder.path(percentEncoded: false), "SCHEMATHESIS_HOOKS": "hooks",
                    "SLUICE_TEST_CONTRACT": contract,
                ])
            let status = await process.exitStatus()
            let output = process.output
            let failures = output.firstRange(of: "= FAILURES =").map { output[$0.lowerBound...] } ?? output[...]
            try #require(
                status == 0,
                "SLUICE_TEST_SEED=\(seed) \(process.errors) \(failures.prefix(20_000))\(output.suffix(2000))")
            let result = try JSONNode(json: Array(try Data(contentsOf: report)))
            #expect(result.complete == .bool(true))
            let operations = try ContractDocument.shared.get().operations.count { asker.asks(for: $0) }
            #expect(result.operations?.tested?.integer == operations)
            #expect(result.test_cases?.generated?.integer ?? 0 > 10 * operations)
            let after = try await deployment.number(Self.changes)
            // Callers other than admins were able to change nothing; an admin was able to change something.
            #expect((after == before) == (asker != .admin))
            let issuances = try await deployment.number("SELECT count(*) FROM issuances")
            #expect(issuances > 0 || asker != .user)
        }
    }

    /// The number of changes that only admins may make.
    private static let changes = "SELECT count(*) FROM admin_audit WHERE kind NOT ILIKE '%ticket%'"
}

extension Deployment {
    /// Makes the rows that the contract's examples name, so that the examples have an effect; returns the caller.
    fileprivate func furnish(for asker: SchemathesisTests.Asker) async throws -> APIClient {
        try await makeBucket("photos", options: ["allowsRedirects": true])
        for principal in ["*", "group:staff"] {
            try await grant(["PutObject", "GetObject"], to: principal, in: "photos")
        }
        try await quota(1 << 40, for: "*")
        switch asker {
        case .admin: return admin
        case .auditor: return try await makeUser("auditor", roles: ["auditor"]).client
        case .user: return try await makeUser("alice", groups: ["staff"]).client
        }
    }
}
