import LibPQ
import PostgresTesting
import TestSupport
import Testing

/// Sessions of commands that may take long.
@Suite(.timeLimit(.minutes(2))) struct MaintenanceTests {
    @Test func `a migration takes the time that it needs, whatever the timeouts of the database are`() async throws {
        try await Deployment.with { site in
            // The body of a function differs, and to replace it takes longer than the timeout.
            let session = try site.session()
            try await session.runScript(
                """
                CREATE FUNCTION tarry() RETURNS event_trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(1.5); END';
                CREATE EVENT TRIGGER tarry ON ddl_command_start WHEN TAG IN ('CREATE FUNCTION')
                EXECUTE FUNCTION tarry();
                UPDATE schema_functions SET checksum = '\\x00' WHERE name = 'uuid_v7';
                ALTER DATABASE \(site.databaseName) SET statement_timeout = '1s';
                ALTER DATABASE \(site.databaseName) SET lock_timeout = '1s'
                """)
            // So does the wait for another migration.
            let holder = try site.session(settings: [("statement_timeout", "0")])
            try await holder.runScript("BEGIN; SELECT pg_advisory_xact_lock(advisory_lock('migration'))")
            let migration = try RunningProcess([Program.path, "migrate"], environment: site.environment)
            let waiting = """
                SELECT count(*) FROM pg_stat_activity
                WHERE datname = current_database() AND application_name = 'sluice-maintenance'
                    AND wait_event_type = 'Lock' AND query_start < clock_timestamp() - interval '1.5 s'
                """
            try await waitUntil("the migration has waited for longer than the timeout") {
                try await session.number(waiting) == 1
            }
            try await holder.runScript("ROLLBACK")
            let status = await migration.exitStatus()
            #expect(status == 0, "\(migration.errors)")
            #expect(migration.output.contains("Applied functions: uuid_v7."), "\(migration.output)")
            try await session.runScript(
                """
                DROP EVENT TRIGGER tarry; DROP FUNCTION tarry(); ALTER DATABASE \(site.databaseName) RESET ALL
                """)
            await session.close()
            await holder.close()
        }
    }
}
