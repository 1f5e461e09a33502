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
        ("scans under a lock", "expand: ALTER DOMAIN issuance_action ADD CONSTRAINT a CHECK (VALUE <> '');"),
        ("holds all gateways up", "contract: CREATE INDEX a ON grants (note);"),
        (
            "holds all gateways up",
            """
            contract: CREATE UNIQUE INDEX a ON quotas (principal, bucket, action, metric, period, sharing, revision)
            NULLS NOT DISTINCT;
            """
        ),
        ("holds all gateways up", "contract: ALTER TABLE grants ADD CONSTRAINT a CHECK (note <> '');"),
        ("holds all gateways up", "contract: ALTER TABLE grants ADD FOREIGN KEY (bucket) REFERENCES buckets (name);"),
        ("holds all gateways up", "contract: ALTER TABLE quotas ADD CONSTRAINT a UNIQUE (principal);"),
        ("holds all gateways up", "contract: ALTER TABLE quotas VALIDATE CONSTRAINT a;"),
        ("holds all gateways up", "contract: ALTER TABLE quotas ALTER COLUMN action SET NOT NULL;"),
        ("takes away", "expand: ALTER TABLE buckets DROP COLUMN note;"),
        ("takes away", "expand: DROP TABLE denials;"),
        ("takes away", "expand: DROP INDEX grants_rule_idx;"),
        ("takes away", "expand: ALTER TABLE buckets RENAME COLUMN note TO remark;"),
        ("takes away", "expand: ALTER TABLE buckets ADD COLUMN owner text NOT NULL;"),
        ("takes away", "expand: ALTER TABLE buckets ALTER COLUMN note SET NOT NULL;"),
        ("takes away", "expand: ALTER TABLE quotas ADD CONSTRAINT a UNIQUE (principal);"),
        ("takes away", "expand: CREATE UNIQUE INDEX a ON quotas (principal);"),
        (
            "takes away",
            """
            expand: CREATE UNIQUE INDEX a ON quotas (principal, bucket, action, metric, period, revision)
            NULLS NOT DISTINCT;
            """
        ),
        (
            "takes away",
            """
            expand: CREATE UNIQUE INDEX a ON grants (
                principal, bucket, prefix, effect, ('PutObject' = ANY (actions)), ('GetObject' = ANY (actions)),
                (md5(conditions::text)::uuid), not_before, not_after, note
            ) NULLS NOT DISTINCT;
            """
        ),
        (
            "blocks writers",
            """
            expand: CREATE UNIQUE INDEX a ON quota_usage (quota_id, period_start, holder);
            """
        ),
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
        """
        CREATE UNIQUE INDEX a ON quotas (sharing, principal, bucket, action, metric, period, revision)
        NULLS NOT DISTINCT;
        """,
    ])
    func `what lets gateways go on is allowed`(_ statement: String) {
        let migration = Migration(version: 7, name: "a", sql: Array("-- Kind: expand\n\n\(statement)\n".utf8))
        #expect(Self.faults(of: migration) == [])
    }

    @Test(arguments: [
        "DROP INDEX grants_rule_idx; ALTER INDEX grants_later_idx RENAME TO grants_rule_idx;",
        "ALTER TABLE grants DROP CONSTRAINT a, ADD CONSTRAINT a CHECK (note <> '') NOT VALID;",
        "ALTER TABLE grants ADD FOREIGN KEY (bucket) REFERENCES buckets (name) NOT VALID;",
        "ALTER TABLE quotas ADD CONSTRAINT a UNIQUE USING INDEX b; ALTER TABLE buckets DROP COLUMN note;",
        "CREATE TABLE later (id uuid); CREATE UNIQUE INDEX later_idx ON later (id);",
    ])
    func `what only changes the catalogue is allowed at the end of an update`(_ statement: String) {
        let text = "-- Kind: contract, serves from 7\n\n\(statement)\n"
        #expect(Self.faults(of: Migration(version: 7, name: "a", sql: Array(text.utf8))) == [])
    }

    // MARK: - The rules

    /// Tables that recordings write.
    private static let recorded: Set = ["issuances", "quota_usage", "reservations", "denials", "idempotency_keys"]

    /// What a migration must not do, one line each.
    private static func faults(of migration: Migration) -> [String] {
        let statements = statements(of: migration)
        let admitted = UniqueIndex.admitted(in: migration)
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
            let isAdmitted = admitted.contains { statement.hasPrefix("create unique index \($0) ") }
            let isContract = migration.kind != .expand
            if let fault = fault(of: statement, table: table ?? "", isContract: isContract, isAdmitted: isAdmitted) {
                faults.append("\(fault): \(statement)")
            }
        }
        if altered.count > 1, migration.kind == .expand { faults.append("locks several tables: \(altered.sorted())") }
        return faults
    }

    /// What a statement must not do.
    ///
    /// - Parameter isAdmitted: Whether it makes a unique index that refuses nothing.
    private static func fault(of statement: String, table: String, isContract: Bool, isAdmitted: Bool) -> String? {
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
        if statement.contains(#/^alter domain .*\badd (constraint|check)/#), !statement.contains("not valid") {
            return "scans under a lock"
        }
        if let name = SchemaFunction.all.map(\.name).first(where: { statement.contains("\($0)(") }) {
            return "calls \(name)"
        }
        if isContract { return readsTable(statement) ? "holds all gateways up" : nil }
        return takesAway(statement) && !isAdmitted ? "takes away" : nil
    }

    /// Whether a statement reads all rows of a table. Nothing is recorded while a migration contracts.
    private static func readsTable(_ statement: String) -> Bool {
        if statement.contains(#/^create (unique )?index/#) { return !statement.contains(" on only issuances") }
        guard statement.hasPrefix("alter ") else { return false }
        if statement.contains(#/\b(validate constraint|set not null)/#) { return true }
        let addition = #/\badd (constraint \w+ )?(check|foreign key|unique|primary key|exclude)\b/#
        return statement.contains(addition) && !statement.contains("not valid") && !statement.contains("using index")
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
    private static func statements(of migration: Migration, keepsTexts: Bool = false) -> [String] {
        let code = String(decoding: migration.sql, as: UTF8.self).replacing(#/--[^\n]*/#, with: "")
            .replacing(#/\$(\w*)\$(.|\n)*?\$\1\$/#, with: "''")
        return (keepsTexts ? code : code.replacing(#/'[^']*'/#, with: "''"))
            .lowercased()
            .split(separator: ";")
            .map { $0.split(whereSeparator: \.isWhitespace).joined(separator: " ") }
            .filter { !$0.isEmpty }
    }

    /// A unique index that a migration makes.
    private struct UniqueIndex {
        var name: String
        let table: String
        let columns: Set<String>
        /// What follows the columns: how NULL is compared, and which rows it has.
        let terms: String

        /// Reads a statement with its texts; `nil` if it makes no unique index.
        init?(_ statement: String) {
            let beginning = #/create unique index (\w+) on (?:only )?(\w+) (?:using btree )?\(/#
            guard let head = statement.prefixMatch(of: beginning) else { return nil }
            name = String(head.1)
            table = String(head.2)
            var rest = statement[head.range.upperBound...]
            var columns: Set<String> = []
            var column = ""
            var depth = 1
            while depth > 0, let character = rest.popFirst() {
                if character == "(" { depth += 1 }
                if character == ")" { depth -= 1 }
                if depth == 0 || (depth == 1 && character == ",") {
                    columns.insert(column.trimmingCharacters(in: .whitespaces))
                    column = ""
                } else {
                    column.append(character)
                }
            }
            self.columns = columns
            terms = String(rest)
        }

        /// The names of those in a migration that refuse nothing: an index that is there already has some of the same
        /// columns, and so refuses all that they would refuse.
        static func admitted(in migration: Migration) -> [String] {
            let others = present(before: migration.version)
            return MigrationRuleTests.statements(of: migration, keepsTexts: true).compactMap { UniqueIndex($0) }
                .filter { new in
                    others.contains {
                        $0.table == new.table && $0.terms == new.terms && $0.columns.isSubset(of: new.columns)
                    }
                }
                .map(\.name)
        }

        /// Those that migrations before a version leave.
        private static func present(before version: Int32) -> [UniqueIndex] {
            var indexes: [UniqueIndex] = []
            for migration in Migration.all where migration.version < version {
                for statement in MigrationRuleTests.statements(of: migration, keepsTexts: true) {
                    if let index = UniqueIndex(statement) { indexes.append(index) }
                    if let dropped = statement.wholeMatch(of: #/drop index (\w+)/#) {
                        indexes.removeAll { $0.name == String(dropped.1) }
                    }
                    if let renamed = statement.wholeMatch(of: #/alter index (\w+) rename to (\w+)/#) {
                        for place in indexes.indices where indexes[place].name == String(renamed.1) {
                            indexes[place].name = String(renamed.2)
                        }
                    }
                }
            }
            return indexes
        }
    }
}
