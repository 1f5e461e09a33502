import Testing

@testable import LibPQ

/// Failures to log in, told apart by what can heal them.
@Suite struct LoginFailureTests {
    private static let head = "connection to server at \"127.0.0.1\", port 5432 failed: "

    @Test(arguments: [
        ("FATAL:  28P01: password authentication failed for user \"u\"\nLOCATION:  auth_failed, auth.c:330", "28P01"),
        ("FATAL:  28000: role \"u\" does not exist\nLOCATION:  InitializeSessionUserId, miscinit.c:801", "28000"),
        ("FATAL:  28000: no pg_hba.conf entry for host \"127.0.0.1\", user \"u\", database \"d\"", "28000"),
        ("FATAL:  3D000: database \"d\" does not exist\nLOCATION:  InitPostgres, postinit.c:1037", "3D000"),
        ("FATAL:  42501: permission denied for database \"d\"", "42501"),
        ("SCHWERWIEGEND:  28P01: Passwort-Authentifizierung für Benutzer »u« fehlgeschlagen", "28P01"),
    ])
    func `what waiting cannot heal is told at once, with the server's reason`(text: String, state: String) {
        let failure = LoginFailure(Self.head + text)
        guard case .refused(let error) = failure.error else {
            Issue.record("\(text) is taken for passing")
            return
        }
        #expect(error.sqlState == state && !error.message.contains("LOCATION") && !error.message.contains(state))
        #expect("\(failure.error)".contains(error.message) && failure.error.isOutage)
    }

    @Test(arguments: [
        "Connection refused\n\tIs the server running on that host and accepting TCP/IP connections?",
        "FATAL:  57P03: the database system is starting up\nLOCATION:  ProcessStartupPacket, postmaster.c:2300",
        "FATAL:  53300: sorry, too many clients already", "server closed the connection unexpectedly",
    ])
    func `what waiting can heal is waited for`(text: String) {
        guard case .unavailable(let reason) = LoginFailure(Self.head + text).error else {
            Issue.record("\(text) is taken for final")
            return
        }
        #expect(!reason.contains("LOCATION") && !reason.contains("\n"))
    }
}
