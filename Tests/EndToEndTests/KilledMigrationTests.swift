import Foundation
import Glibc
import LibPQ
import PostgresTesting
import TestSupport
import Testing

/// `sluice migrate` that is killed while PostgreSQL executes its statement.
@Suite(.timeLimit(.minutes(2))) struct KilledMigrationTests {
    @Test func `links flow again once a migration that kept them waiting is killed`() async throws {
        try await Deployment.with { site in
            let alice = try await site.makeUser("alice")
            try await site.allowAsking(by: [alice], in: "killed")
            // The body of a function differs. To replace it takes longer than the test.
            let session = try site.session()
            try await session.runScript(
                """
                CREATE FUNCTION tarry() RETURNS event_trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(600); END';
                CREATE EVENT TRIGGER tarry ON ddl_command_start WHEN TAG IN ('CREATE FUNCTION')
                EXECUTE FUNCTION tarry();
                UPDATE schema_functions SET checksum = '\\x00' WHERE name = 'uuid_v7'
                """)
            let tarrying = """
                SELECT count(*) FROM pg_stat_activity
                WHERE datname = current_database() AND application_name = 'sluice-maintenance'
                    AND wait_event = 'PgSleep'
                """
            let migration = try RunningProcess([Program.path, "migrate"], environment: site.environment)
            try await waitUntil("the migration has the policy lock", seconds: 20) {
                try await site.number(tarrying) == 1
            }
            migration.signal(SIGKILL)
            try await waitUntil("PostgreSQL ends the statement", seconds: 20) { try await site.number(tarrying) == 0 }
            try await waitUntil("links flow again", seconds: 20) {
                try await alice.ask(.download("k", from: "killed")).status == 201
            }
            try await session.runScript("DROP EVENT TRIGGER tarry; DROP FUNCTION tarry()")
            _ = try await Program.run(["migrate"], environment: site.environment)
        }
    }
}
