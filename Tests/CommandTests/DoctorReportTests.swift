import Foundation
import Testing

@testable import sluice

/// What `sluice doctor` prints.
@Suite struct DoctorReportTests {
    @Test func `a report holds nothing that a terminal obeys`() throws {
        var report = DoctorReport()
        report.note(.database, .failed, "refused:\u{9b}31m\u{202e}", advice: "Mend it\u{7f}.")
        #expect(report.text.contains("refused:\\u{9b}31m\\u{202e}") && report.text.contains("Mend it\\u{7f}."))
        let json = try report.json()
        #expect(json.contains(#"refused:\u009b31m\u202e"#) && json.contains("\n"))
        let read = try JSONSerialization.jsonObject(with: Data(json.utf8)) as? [String: Any]
        let checks = read?["checks"] as? [[String: String]]
        #expect(checks?.first?["message"] == "refused:\u{9b}31m\u{202e}")
    }
}
