import Foundation
import Testing

@testable import GatewayPostgres

/// What migrations may do to tables that gateways use. `sql/README.md` gives the reasons.
@Suite struct MigrationRuleTests {
    /// Migrations that were made before a gateway could serve beside them.
    private static let free: ClosedRange<Int32> = 1...5

    @Test func `every migration declares its kind, and those that contract come last in an update`() {
        for migration in Migration.all {
            #expect(migration.declaredKind != nil, "\(migration.name): '-- Kind: …' in its first line")
            if case .contract(let version)? = migration.declaredKind {
                #expect((1...migration.version).contains(version), "\(migration.name)")
            }
        }
    }

    @Test func `no migration does what stops gateways`() {
        for migration in Migration.all where !Self.free.contains(migration.version) {
            #expect(Self.faults(of: migration) == [], "\(migration.name)")
        }
    }

    @Test(arguments: [
        ("rewrites", "expand: ALTER TABLE issuances ALTER COLUMN principal TYPE varchar(99);"),
        ("rewrites", "contract: ALTER TABLE ONLY grants ALTER note SET DATA TYPE bytea USING '';"),
        ("rewrites", "expand: ALTER TABLE issuances ADD COLUMN made_at timestamptz DEFAULT clock_timestamp();"),
        ("rewrites", "expand: ALTER TABLE issuances ADD COLUMN number bigint GENERATED ALWAYS AS IDENTITY;"),
        ("rewrites", "contract: UPDATE issuances SET client = '' WHERE client IS NULL;"),
        ("rewrites", "contract: DELETE FROM issuances i WHERE i.client IS NULL;"),
        ("rewrites", "expand: CLUSTER grants USING grants_pkey;"),
        ("rewrites", "expand: VACUUM FULL grants;"),
        ("blocks writers", "expand: CREATE INDEX issuances_client_idx ON issuances (client);"),
        ("blocks writers", "expand: CREATE UNIQUE INDEX a ON quota_usage USING btree (holder);"),
        ("scans under a lock", "contract: ALTER TABLE issuances ALTER COLUMN client SET NOT NULL;"),
        ("scans under a lock", "contract: ALTER TABLE reservations ADD CHECK (amount > 0);"),
        ("scans under a lock", "contract: ALTER TABLE issuances ADD CONSTRAINT a CHECK (client <> '');"),
        ("takes away", "expand: ALTER TABLE buckets DROP COLUMN note;"),
        ("takes away", "expand: DROP TABLE denials;"),
        ("takes away", "expand: DROP INDEX grants_rule_idx;"),
        ("takes away", "expand: ALTER TABLE buckets RENAME COLUMN note TO remark;"),
        ("takes away", "expand: ALTER TABLE buckets ADD COLUMN owner text NOT NULL;"),
        ("takes away", "expand: ALTER TABLE buckets ALTER COLUMN note SET NOT NULL;"),
        ("takes away", "expand: ALTER TABLE quotas ADD CONSTRAINT a UNIQUE (principal);"),
        ("takes away", "expand: CREATE UNIQUE INDEX a ON quotas (principal);"),
        ("ends the transaction", "expand: SELECT 1; COMMIT;"),
        ("calls", "expand: SELECT uuid_v7();"),
        ("locks several tables", "expand: ALTER TABLE buckets ADD a text; ALTER TABLE grants ADD a text;"),
    ])
    func `what stops gateways is found`(_ fault: String, _ change: String) throws {
        let end = try #require(change.firstRange(of: ": "))
        let kind = change[..<end.lowerBound] == "expand" ? "expand" : "contract, serves from 7"
        let text = "-- Kind: \(kind)\n\n-- Adds something.\n\(change[end.upperBound...])\n"
        let migration = Migration(version: 7, name: "change_something", sql: Array(text.utf8))
        let faults = Self.faults(of: migration)
        #expect(faults.count == 1 && faults.allSatisfy { $0.hasPrefix(fault) }, "\(faults)")
    }

    @Test(arguments: [
        "ALTER TABLE issuances ADD COLUMN client text; COMMENT ON COLUMN issuances.client IS 'Drop it; TYPE';",
        "ALTER TABLE issuances ADD COLUMN weight integer NOT NULL DEFAULT 1;",
        "CREATE INDEX issuances_client_idx ON ONLY issuances (client);",
        "ALTER TABLE buckets ADD CONSTRAINT a CHECK (note <> '') NOT VALID;",
        "ALTER TABLE issuances VALIDATE CONSTRAINT a;",
        """
        CREATE TABLE later (id uuid DEFAULT gen_random_uuid());
        CREATE UNIQUE INDEX later_idx ON later (id);
        ALTER TABLE later ALTER COLUMN id SET NOT NULL;
        """,
        "CREATE INDEX a ON quotas (principal);",
    ])
    func `what lets gateways go on is allowed`(_ statement: String) {
        let migration = Migration(version: 7, name: "a", sql: Array("-- Kind: expand\n\n\(statement)\n".utf8))
        #expect(Self.faults(of: migration) == [])
    }

    // MARK: - The rules

    /// Tables that recordings write.
    private static let recorded: Set = ["issuances", "quota_usage", "reservations", "denials", "idempotency_keys"]

    /// What a migration must not do, one line each.
    private static func faults(of migration: Migration) -> [String] {
        let statements = statements(of: String(decoding: migration.sql, as: UTF8.self))
        let created = Set(
            statements.compactMap { $0.firstMatch(of: #/^create (?:temp )?table (?:if not exists )?(\w+)/#) }
                .map { String($0.1) })
        var faults: [String] = []
        var altered: Set<String> = []
        for statement in statements {
            let table = statement.firstMatch(
                of: #/^(?:alter table (?:only )?|create (?:unique )?index \w+ on (?:only )?|update |delete from )(\w+)/#
            ).map { String($0.1) }
            if let table, created.contains(table) { continue }
            if let table, statement.hasPrefix("alter table") { altered.insert(table) }
            if let fault = fault(of: statement, table: table ?? "", isContract: migration.kind != .expand) {
                faults.append("\(fault): \(statement)")
            }
        }
        if altered.count > 1, migration.kind == .expand { faults.append("locks several tables: \(altered.sorted())") }
        return faults
    }

    private static func fault(of statement: String, table: String, isContract: Bool) -> String? {
        let isRecorded = recorded.contains(table)
        if statement.contains(#/^(commit|begin|rollback|start transaction)\b/#) { return "ends the transaction" }
        if statement.contains(#/^(vacuum|cluster|refresh|truncate)\b/#) { return "rewrites" }
        if statement.contains(#/^(update|delete)/#), table == "issuances" { return "rewrites" }
        if statement.hasPrefix("alter table") {
            if statement.contains(#/\balter (column )?\w+ (set data )?type\b/#) { return "rewrites" }
            if statement.contains(#/\badd (column )?.*\b(default [^,]*\(|generated )/#) { return "rewrites" }
            if isRecorded {
                if statement.contains("set not null") { return "scans under a lock" }
                if statement.contains(#/\badd (constraint|check|foreign key)/#), !statement.contains("not valid") {
                    return "scans under a lock"
                }
            }
        }
        if statement.contains(#/^create (unique )?index/#), isRecorded, !statement.contains(" on only issuances") {
            return "blocks writers"
        }
        if let name = SchemaFunction.all.map(\.name).first(where: { statement.contains("\($0)(") }) {
            return "calls \(name)"
        }
        return isContract || !takesAway(statement) ? nil : "takes away"
    }

    /// Whether statements of gateways of the version before could fail afterwards.
    private static func takesAway(_ statement: String) -> Bool {
        if statement.hasPrefix("drop ") || statement.hasPrefix("create unique index") { return true }
        guard statement.hasPrefix("alter table") else { return false }
        let removal = #/\b(drop (column|constraint|default)|rename|set not null|add (constraint \w+ )?unique)\b/#
        if statement.contains(removal) { return true }
        return statement.contains(#/\badd (column )?\w+ [^,]*\bnot null\b/#) && !statement.contains(" default ")
    }

    /// The statements without comments and texts, in lower case and with single spaces. Bodies in dollar quotes count
    /// as texts.
    private static func statements(of script: String) -> [String] {
        script.replacing(#/--[^\n]*/#, with: "")
            .replacing(#/\$(\w*)\$(.|\n)*?\$\1\$/#, with: "''")
            .replacing(#/'[^']*'/#, with: "''")
            .lowercased()
            .split(separator: ";")
            .map { $0.split(whereSeparator: \.isWhitespace).joined(separator: " ") }
            .filter { !$0.isEmpty }
    }
}
