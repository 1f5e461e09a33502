import Figures
import Logging
import PostgresTesting
import Testing

@testable import LibPQ

/// Log lines about a database that fails.
@Suite struct OutageTests {
    private static let lost = PostgresError.connectionLost(reason: "gone")
    private static let refused = PostgresError.server(.init(sqlState: "22001", severity: "ERROR", message: "too long"))

    /// What a function of the schema refuses is told to whoever asked, and is no failure of the database.
    @Test func `a function's own refusal and work that was cancelled are no warnings`() {
        let lines = LogLines(from: .trace)
        let outage = Outage(quiet: .zero, logger: lines.logger)
        let answer = PostgresError.server(.init(sqlState: "SL001", severity: "ERROR", message: "not any more"))
        for error in [answer, .cancelled, Self.refused] {
            lines.logger.report(error, "rows cannot be changed", in: outage)
        }
        #expect(lines.all.map { $0.prefix { $0 != " " } } == ["debug", "debug", "warning"])
        #expect(!outage.isUnderWay)
    }

    @Test func `what a caller has cut short is no outage`() {
        let lines = LogLines(from: .trace)
        let outage = Outage(quiet: .zero, logger: lines.logger)
        for interruption in [PostgresError.Interruption.cancellation, .deadline] {
            let error = PostgresError.outcomeUnknown(reason: "cut short", after: interruption)
            lines.logger.report(error, "rows cannot be changed", in: outage)
        }
        #expect(lines.all.map { $0.prefix { $0 != " " } } == ["debug", "warning"])
        #expect(!outage.isUnderWay)
        lines.logger.report(PostgresError.outcomeUnknown(reason: "not confirmed"), "a row", in: outage)
        #expect(outage.isUnderWay)
    }

    @Test func `an outage of many failures has a line when it begins and a line when it ends`() throws {
        let lines = LogLines(from: .trace)
        let began = ContinuousClock.now
        let outage = Outage(quiet: .zero, logger: lines.logger)
        outage.countRefusal()
        for _ in 0..<100 {
            lines.logger.report(Self.lost, "rows cannot be read", in: outage)
            lines.logger.report(PostgresError.deadlineExceeded, "others cannot be read", in: outage)
            outage.countRefusal()
        }
        #expect(
            lines.all == ["error outage begins first=rows cannot be read reason=connection lost: gone"])
        outage.wasWell(at: .now)
        let elapsed = (ContinuousClock.now - began) / .seconds(1)
        #expect(lines.all.count == 2 && !outage.isUnderWay)
        let end = lines.all.last ?? ""
        let head = "warning outage ends duration.s="
        let tail = " failures=200 reasons=connection lost: gone; deadline exceeded requests.refused=100"
        try #require(end.hasPrefix(head) && end.hasSuffix(tail), "\(end)")
        let duration = try #require(Double(end.dropFirst(head.count).dropLast(tail.count)), "\(end)")
        // It is rounded to tenths.
        #expect((0...(elapsed + 0.05)).contains(duration), "\(end)")
        lines.logger.report(Self.lost, "rows cannot be read", in: outage)
        #expect(lines.all.count == 3, "the next one is another")
    }

    @Test func `what is well only before the last failure, or for too short a time, does not end it`() async throws {
        let lines = LogLines(from: .trace)
        let outage = Outage(quiet: .milliseconds(50), logger: lines.logger)
        let before = ContinuousClock.now
        outage.note("gone", "rows cannot be read")
        outage.wasWell(at: before)
        outage.wasWell(at: .now)
        outage.note("gone again", "rows cannot be read")
        let began = ContinuousClock.now
        while outage.isUnderWay { outage.wasWell(at: .now) }
        #expect(ContinuousClock.now - began >= .milliseconds(49))
        #expect(lines.all.count == 2)
    }

    @Test func `a failure beside others that work is no outage, unless they fail before they work again`() {
        let lines = LogLines(from: .trace)
        let outage = Outage(quiet: .zero, logger: lines.logger)
        let before = ContinuousClock.now
        for _ in 0..<2 {
            #expect(!outage.note("gone", "issuances not recorded", isSpare: true))
            outage.countRefusal()
        }
        outage.wasWell(at: before)
        #expect(lines.all.isEmpty && !outage.isUnderWay)
        outage.wasWell(at: .now)
        let line = lines.all.last ?? ""
        #expect(line.hasPrefix("warning connections failed while others worked duration.s="))
        #expect(line.hasSuffix(" failures=2 reasons=gone requests.refused=2") && outage.begun.value == 0)

        #expect(!outage.note("gone", "issuances not recorded", isSpare: true))
        outage.countRefusal()
        #expect(outage.note("gone too", "probe of recordings"))
        #expect(outage.isUnderWay && outage.begun.value == 1)
        #expect(lines.all.last == "error outage begins first=probe of recordings reason=gone too")
        #expect(!outage.note("gone", "issuances not recorded", isSpare: true))
        outage.wasWell(at: .now)
        #expect(lines.all.last?.hasSuffix(" failures=3 reasons=gone; gone too requests.refused=1") == true)
        #expect(lines.all.count == 3 && !outage.isUnderWay)
    }

    @Test func `failures in quick succession, of one connection and then of all, are one outage`() {
        let lines = LogLines(from: .trace)
        let outage = Outage(quiet: .seconds(3600), logger: lines.logger)
        outage.note("gone", "issuances not recorded", isSpare: true)
        outage.wasWell(at: .now)
        #expect(lines.all.isEmpty)
        #expect(outage.note("gone", "probe of recordings"))
        #expect(lines.all.count == 1)
    }

    @Test func `a failure to connect that is excused begins no outage and prolongs none`() {
        let lines = LogLines(from: .trace)
        let outage = Outage(quiet: .milliseconds(50), logger: lines.logger)
        let none = PostgresError.server(.init(sqlState: "53300", severity: "FATAL", message: "too many clients"))
        outage.excuseFailures { true }
        let began = ContinuousClock.now
        while lines.all.isEmpty, ContinuousClock.now - began < .seconds(60) {
            lines.logger.report(none, "no connection", in: outage)
            outage.countRefusal()
            outage.wasWell(at: .now)
        }
        #expect(!outage.isUnderWay && outage.begun.value == 0)
        let told = lines.all.last ?? ""
        #expect(told.hasPrefix("warning connections failed while others worked"))
        #expect(told.contains("reasons=no connection: FATAL 53300: too many clients"))

        // A connection that was lost may be the first sign of an outage.
        lines.logger.report(Self.lost, "rows cannot be read", in: outage)
        #expect(outage.isUnderWay && outage.begun.value == 1)
        while outage.isUnderWay, ContinuousClock.now - began < .seconds(60) {
            lines.logger.report(none, "no connection", in: outage)
            outage.wasWell(at: .now)
        }
        #expect(!outage.isUnderWay)

        outage.excuseFailures { false }
        lines.logger.report(none, "no connection", in: outage)
        #expect(outage.isUnderWay && outage.begun.value == 2)
    }

    @Test func `a failure that is nobody else's keeps its line`() {
        let lines = LogLines(from: .trace)
        let outage = Outage(logger: lines.logger)
        lines.logger.report(PostgresError.deadlineExceeded, "a page cannot be read", in: outage)
        lines.logger.report(Self.lost, "without outages", in: nil)
        outage.note("gone", "rows cannot be read")
        lines.logger.report(Self.refused, "a row", in: outage, level: .error, metadata: ["count": "1"])
        #expect(lines.all[0] == "warning a page cannot be read reason=deadline exceeded")
        #expect(lines.all[1] == "warning without outages reason=connection lost: gone")
        #expect(lines.all[3] == "error a row count=1 reason=ERROR 22001: too long")
    }
}
