import Testing

@testable import LibPQ
@testable import sluice

@Suite("advice about PostgreSQL")
struct DatabaseAdviceTests {
    @Test(arguments: [
        (
            "root certificate file \"/nonexistent/.postgresql/root.crt\" does not exist\n"
                + "Either provide the file or change sslmode to disable server certificate verification.",
            "sslrootcert"
        ),
        ("SSL error: certificate verify failed", "sslrootcert"),
        (
            "server certificate for \"db.example\" (and 1 other name) does not match host name \"127.0.0.1\"",
            "as its certificate does"
        ),
        ("FATAL:  28000: Peer authentication failed for user \"sluice\"", "runuser -u sluice"),
        ("FATAL:  28P01: password authentication failed for user \"sluice\"", "pg_hba.conf"),
        ("fe_sendauth: no password supplied", "pg_hba.conf"),
        ("Connection refused", "whether PostgreSQL runs there"),
        ("FATAL:  53300: sorry, too many clients already", "max_connections"),
        ("FATAL:  53300: remaining connection slots are reserved", "max_connections"),
        ("FATAL:  53300: too many connections for role \"sluice\"", "ALTER ROLE … CONNECTION LIMIT"),
        ("FATAL:  53300: too many connections for database \"sluice\"", "ALTER DATABASE … CONNECTION LIMIT"),
    ])
    func `what libpq says of a failed login leads to what helps`(text: String, advice: String) {
        let error = LoginFailure("connection to server at \"db.example\" (192.0.2.1), port 5432 failed: \(text)").error
        #expect(error.advice(for: .gateway).contains(advice), "\(error)")
    }

    @Test(arguments: [
        ("53200", "out of shared memory", "max_locks_per_transaction"),
        ("53200", "out of memory", "The server's log"),
        ("25006", "cannot execute INSERT in a read-only transaction", "or default_transaction_read_only is on"),
        ("55P03", "canceling statement due to lock timeout", "such as pg_dump or an import"),
        ("42704", "unrecognized configuration parameter \"idle_session_timeout\"", "PostgreSQL 15 or later"),
        ("42704", "type \"odd\" does not exist", "The server's log"),
    ])
    func `what the server says of a statement leads to what helps`(state: String, message: String, advice: String) {
        let error = PostgresError.server(.init(sqlState: state, severity: "ERROR", message: message))
        #expect(error.advice(for: .owner).contains(advice), "\(error)")
    }
}
