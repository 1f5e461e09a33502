import Foundation
import LineLogging
import Logging
import Testing

@testable import sluice

/// Holds the ranges and defaults of `docs/settings.md` to what the program does and says.
@Suite("the page of settings", .timeLimit(.minutes(1)))
struct SettingsPageTests {
    /// A row of the page, without the marks of code.
    private struct Row {
        var name: String
        var meaning: String
        var range: String
        var preset: String

        /// The bounds of a number; `nil` for any other range.
        var bounds: (least: Int, most: Int)? {
            let numbers = range.split(separator: "–").map { Int($0.replacing(",", with: "")) }
            guard numbers.count == 2, let least = numbers[0], let most = numbers[1] else { return nil }
            return (least, most)
        }
    }

    private let rows: [Row]

    init() throws {
        let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../..")
        let page = try String(contentsOf: root.appending(path: "docs/settings.md"), encoding: .utf8)
        rows = page.split(separator: "\n").filter { $0.hasPrefix("| `SLUICE_") }.map { line in
            let cells = line.split(separator: "|", omittingEmptySubsequences: false).map {
                $0.replacing("`", with: "").trimmingCharacters(in: .whitespaces)
            }
            return Row(name: cells[1], meaning: cells[2], range: cells[3], preset: cells[4])
        }
    }

    /// Starts a gateway with values that the rows give, and returns its mistakes by variable.
    private func mistakes(_ value: (Row) -> String?) throws -> [String: String] {
        var environment: [String: String] = [:]
        for row in rows { environment[row.name] = value(row) }
        let result = try Command.run(["serve"], environment: environment)
        #expect(result.status == 1)
        let told = result.errors.matches(of: #/(SLUICE_[A-Z_]+): (.*?)(?=; SLUICE_|" \[sluice\])/#)
        return Dictionary(told.map { (String($0.1), String($0.2)) }, uniquingKeysWith: { first, _ in first })
    }

    @Test func theHelpNamesThePathsOfTheAdminListenerThatThePageNames() throws {
        func paths(in text: String) -> Set<String> {
            Set(text.matches(of: #/\/[a-z]+(?:\.[a-z]+)?/#).map { String($0.output) })
        }
        let row = try #require(rows.first { $0.name == SettingName.adminListen.variable })
        let named = paths(in: row.meaning)
        #expect(named.count == 8 && paths(in: SettingName.adminListen.meaning) == named)
    }

    @Test func theRangesAreThoseOfTheProgram() throws {
        let below = try mistakes { row in row.bounds.map { "\($0.least - 1)" } }
        let least = try mistakes { row in row.bounds.map { "\($0.least)" } }
        let most = try mistakes { row in row.bounds.map { "\($0.most)" } }
        let above = try mistakes { row in row.bounds.map { "\($0.most + 1)" } }
        var count = 0
        for row in rows {
            guard let bounds = row.bounds else { continue }
            count += 1
            let flaw = "must be from \(bounds.least) to \(bounds.most)"
            #expect(below[row.name] == flaw && above[row.name] == flaw, "\(row.name)")
            #expect(least[row.name] == nil && most[row.name] == nil, "\(row.name)")
        }
        #expect(count > 15)
    }

    @Test func theNumbersAndWordsAreThoseOfTheProgram() throws {
        let told = try mistakes { _ in "made-up" }
        var count = 0
        for row in rows {
            let flaw = told[row.name] ?? ""
            let isNumber = row.bounds != nil
            #expect((flaw == "must be a whole number") == isNumber, "\(row.name): \(flaw)")
            guard flaw.hasPrefix("must be one of ") else { continue }
            count += 1
            #expect(flaw == "must be one of \(row.range)")
        }
        #expect(count == 3)
    }

    @Test func theDefaultsAreThoseOfTheProgramAndItsHelp() throws {
        var reader = try SettingReader(
            assignments: [],
            environment: [
                "SLUICE_DATABASE_URL": "postgresql://sluice@127.0.0.1/sluice",
                "SLUICE_MASTER_KEY": Data(0..<32).base64EncodedString(),
            ],
            file: nil)
        let settings = try Settings(&reader)
        let log = LogSetup()
        let presets: [SettingName: String] = [
            .databaseLedgerConnections: "\(settings.database.ledgerConnections)",
            .databasePoolConnections: "\(settings.database.poolConnections)",
            .listen: "\(settings.listen.host):\(settings.listen.port)",
            .eventsOSSKeyOrigins: settings.ossKeyOrigins.joined(separator: ","),
            .httpThreads: "\(settings.http.threads)",
            .httpMaxConnections: "\(settings.http.maxConnections)",
            .httpMaxConnectionsPerAddress: "\(settings.http.maxConnectionsPerAddress)",
            .httpMaxRequestsInFlight: "\(settings.http.maxRequestsInFlight)",
            .httpMaxHead: "\(settings.http.maxHead)",
            .httpMaxBodyMemory: "\(settings.http.maxBodyMemory)",
            .httpIdleTimeout: "\(settings.http.idleTimeout)",
            .httpRequestTimeout: "\(settings.http.requestTimeout)",
            .httpAnswerDeadline: "\(settings.http.answerDeadline)",
            .httpDrainDelay: "\(settings.http.drainDelay)",
            .httpDrainDeadline: "\(settings.http.drainDeadline)",
            .ledgerKeepDays: settings.ledgerKeepDays.map { "\($0)" } ?? "for ever",
            .ledgerDaysAhead: "\(settings.ledgerDaysAhead)",
            .refusalsKeepDays: "\(settings.refusalsKeepDays)",
            .multipartMaxAge: "\(settings.multipartMaxAge)",
            .clockMaxDifference: "\(settings.clockMaxDifference)",
            .sessionsPerSecond: "\(settings.sessionsPerSecond)",
            .requestsPerSecond: "\(settings.requestsPerSecond)",
            .ticketsMaxAge: "\(settings.ticketsMaxAge)",
            .logLevel: "\(log.level)",
            .logFormat: "\(log.format)",
        ]
        for row in rows {
            let name = try #require(SettingName.allCases.first { $0.variable == row.name })
            let isNumber = row.bounds != nil
            if let preset = presets[name] {
                #expect(row.preset == preset, "\(row.name)")
            } else {
                #expect(!isNumber, "\(row.name) is not compared")
            }
            if let told = name.meaning.firstMatch(of: #/Default:? (.+)\.$/#) {
                #expect(row.preset == told.1, "\(row.name)")
            } else {
                #expect(["required", "required, or the file", "none"].contains(row.preset), "\(row.name)")
            }
        }
    }
}
