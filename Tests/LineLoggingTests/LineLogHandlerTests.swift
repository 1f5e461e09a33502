import Foundation
import GatewayAPI
import GatewayCore
import Logging
import Testing

@testable import LineLogging

@Suite struct LineLogHandlerTests {
    let time = Date(timeIntervalSince1970: 1_900_000_000.75)

    private func line(_ handler: LineLogHandler, _ message: Logger.Message, _ metadata: Logger.Metadata?) -> String {
        let event = LogEvent(
            level: .info, message: message, metadata: metadata, source: "Tests", file: #fileID, function: #function,
            line: #line)
        return String(decoding: handler.line(for: event, at: time), as: UTF8.self)
    }

    @Test func `a line holds time, level, logger, metadata by name, source and message`() {
        var handler = LineLogHandler(label: "sluice", format: .text)
        handler[metadataKey: "listener"] = "api"
        handler[metadataKey: "status"] = "outer"
        #expect(
            line(handler, "Request answered", ["status": "\(201)", "method": "POST"])
                == "2030-03-17T17:46:40Z info sluice: listener=api method=POST status=201 [Tests] Request answered\n")
        #expect(
            line(LineLogHandler(label: "x", format: .text), "Grüße", nil)
                == "2030-03-17T17:46:40Z info x: [Tests] Grüße\n")
    }

    @Test func `control characters cannot make a second line`() {
        let text = line(
            LineLogHandler(label: "x", format: .text), "a\r\nb",
            ["na\nme": "v\u{1b}[31m", "list": ["one\n", "é"], "emoji": "👍🏽\n"])
        #expect(text.utf8.filter { $0 < 0x20 || $0 == 0x7f } == [UInt8(ascii: "\n")])
        #expect(text.hasSuffix("\n"))
        #expect(text.contains(#"a\r\nb"#) && text.contains("👍🏽") && text.contains(#"na\nme="v\u001b[31m" "#))
    }

    @Test func `a line of text holds nothing that a terminal obeys`() {
        let text = line(
            LineLogHandler(label: "x", format: .text), "a\u{9b}2J", ["v": "\u{9d}é", "w": "x\u{202e}y", "z": "é\u{a0}"])
        #expect(
            text.dropFirst(21)
                == #"info x: v="\u009dé" w="x\u202ey" z=é\#u{a0} [Tests] a\u{009B}2J"# + "\n")
    }

    @Test func `the text of a second is not taken for another`() {
        let handler = LineLogHandler(label: "x", format: .text)
        let event = LogEvent(
            level: .error, message: "m", metadata: nil, source: "T", file: #fileID, function: #function, line: #line)
        let texts = [0.0, 0.999, 1, -1, 0].map {
            String(decoding: handler.line(for: event, at: Date(timeIntervalSince1970: $0)).prefix(20), as: UTF8.self)
        }
        #expect(
            texts == [
                "1970-01-01T00:00:00Z", "1970-01-01T00:00:00Z", "1970-01-01T00:00:01Z", "1969-12-31T23:59:59Z",
                "1970-01-01T00:00:00Z",
            ])
    }

    @Test func `a line of JSON holds the same, and its own members come before those of others`() throws {
        var handler = LineLogHandler(label: "sluice", format: .json)
        handler[metadataKey: "status"] = "outer"
        handler[metadataKey: "level"] = "forged"
        #expect(
            line(handler, "Request\nanswered", ["status": "\(201)", "path": "a/b", "list": ["one"]])
                == #"{"level":"info","list":["one"],"logger":"sluice","message":"Request\nanswered","path":"a/b","#
                + #""source":"Tests","status":201,"time":"2030-03-17T17:46:40.750Z"}"# + "\n")
    }

    @Test func `numbers are numbers in JSON where their fields have numbers, and nowhere else`() {
        let handler = LineLogHandler(label: "x", format: .json)
        for (name, value, written) in [
            ("count", "7", "7"), ("duration.s", "-0.5", "-0.5"), ("retry.s", "1e-05", "1e-05"), ("tls", "true", "true"),
            ("count", "many", "\"many\""), ("retry.s", "inf", "\"inf\""), ("tls", "1", "\"1\""), ("code", "7", "\"7\""),
            ("day", "true", "\"true\""),
        ] {
            let line = line(handler, "m", [name: "\(value)"])
            #expect([",", "}"].contains { line.contains("\"\(name)\":\(written)\($0)") }, "\(line)")
        }
    }

    @Test func `lists and objects are JSON in both forms`() {
        let metadata: Logger.Metadata = ["fields": ["b": ["1", "x\"y"], "a": "é"]]
        let json = #"{"a":"é","b":["1","x\"y"]}"#
        #expect(line(LineLogHandler(label: "x", format: .json), "m", metadata).contains(#""fields":\#(json),"#))
        let quoted = json.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"")
        #expect(line(LineLogHandler(label: "x", format: .text), "m", metadata).contains(" fields=\"\(quoted)\" "))
    }

    @Test func `values of text lines are quoted where they could be read in two ways`() {
        let handler = LineLogHandler(label: "x", format: .text)
        for (value, written) in [
            ("plain:é/7", "plain:é/7"), ("two words", "\"two words\""), ("", "\"\""), ("a=b", "\"a=b\""),
            ("say \"x\"", #""say \"x\"""#), ("back\\slash", #""back\\slash""#), ("a\tb", #""a\tb""#),
        ] {
            #expect(line(handler, "m", ["f": "\(value)"]).contains(" f=\(written) ["), "\(value)")
        }
    }

    @Test(arguments: ["192.0.2.7", "0.0.0.0", "255.255.255.255", "::1", "2001:db8::7", "2001:db8:1:2:3:4:5:6"])
    func `the address of a caller is written as it reads`(text: String) throws {
        #expect(requestLine(.text, client: text).contains(" client=\(text) "))
        #expect(requestLine(.json, client: text).contains("\"client\":\"\(text)\","))
    }

    @Test func `numbers and times of all lengths are written`() {
        for (microseconds, text) in [(0, "0"), (9, "9"), (10, "10"), (99_999, "99999"), (.max, "\(Int64.max)")]
            as [(Int64, String)]
        {
            #expect(requestLine(.text, microseconds: microseconds).contains(" duration.us=\(text) "))
        }
        for (milliseconds, text) in [(0, ".000Z"), (7, ".007Z"), (42, ".042Z"), (999, ".999Z")] {
            var clock = LogClock()
            let instant = Date(timeIntervalSince1970: 1_900_000_000 + (Double(milliseconds) + 0.5) / 1000)
            #expect(clock.time(of: instant).text == "2030-03-17T17:46:40" + text)
        }
    }

    @Test(arguments: [LogFormat.text, .json])
    func `the line of a request is what its metadata would make`(format: LogFormat) throws {
        let handler = LineLogHandler(label: "sluice", format: format)
        let trace = TraceContext(
            parent: "00-4bf92f3577b34da6a3ce929d0e0e4736-1111111111111111-01", state: [],
            spanBytes: [0, 0xf0, 0x67, 0xaa, 0x0b, 0xa9, 0x02, 0xb7])
        for (principal, code, cause) in [
            (nil, nil, nil), ("user:alice", nil, nil), ("user:a\"b\\c é", "AccessDenied", nil),
            ("*", "\u{1}\u{7f}\n\u{8}\u{c}\r\t", nil), ("user:alice", "SlowDown", "FATAL \"57P01\"\nby é"),
        ] as [(String?, String?, String?)] {
            var metadata: Logger.Metadata = [
                "request.id": "018f", "method": "POST", "route": "/v1/{id}", "status": "201", "duration.us": "1234",
                "client": "192.0.2.7", "spanId": "00f067aa0ba902b7", "traceId": "4bf92f3577b34da6a3ce929d0e0e4736",
            ]
            metadata["principal"] = principal.map { .string($0) }
            metadata["row"] = principal.map { .string($0) }
            metadata["code"] = code.map { .string($0) }
            metadata["cause"] = cause.map { .string($0) }
            let event = LogEvent(
                level: .info, message: "Request answered", metadata: metadata, source: "GatewayAPI", file: #fileID,
                function: #function, line: #line)
            #expect(
                try requestLine(
                    format, principal: principal.map { try Principal($0) }, row: principal, code: code,
                    cause: cause.map { Cause($0) }, client: "192.0.2.7", trace: trace)
                    == String(decoding: handler.line(for: event, at: time), as: UTF8.self))
        }
    }

    @Test func `requests have lines where those of level info are written`() {
        var setup = LogSetup()
        for (level, isOn) in [(Logger.Level.trace, true), (.info, true), (.notice, false), (.critical, false)] {
            setup.level = level
            #expect(setup.requests.isOn == isOn)
        }
    }

    @Test(arguments: [LogFormat.text, .json])
    func `the line of a batch has the number of refusals and their reasons`(format: LogFormat) throws {
        let target = RefusalTarget(.getObject, on: "a/b", in: try BucketName("photos"))
        let notes = [
            RefusalNote(code: "AccessDenied", .noGrant, target: target), RefusalNote(code: "AccessDenied", .noGrant),
            RefusalNote(code: "AccessDenied", .conditionFailed, subject: "notAfter"),
        ]
        var metadata: Logger.Metadata = [
            "request.id": "018f", "method": "POST", "route": "/v1/{id}", "status": "201", "duration.us": "1234",
            "bucket": "photos", "key.prefix": "a/", "reason": "noGrant",
            // printf a/b | sha256sum
            "key.sha256": "c14cddc033f64b9dea80ea675cf280a015e672516090a5626781153dc68fea11",
        ]
        let handler = LineLogHandler(label: "sluice", format: format)
        for (count, total, reasons) in [(1, 1, nil), (2, 2, nil), (3, 30, "noGrant,conditionFailed")]
            as [(Int, Int, String?)]
        {
            metadata["refusals"] = total > 1 ? "\(total)" : nil
            metadata["reasons"] = reasons.map { "\($0)" }
            let event = LogEvent(
                level: .info, message: "Request answered", metadata: metadata, source: "GatewayAPI", file: #fileID,
                function: #function, line: #line)
            #expect(
                requestLine(format, refusals: Array(notes.prefix(count)), refusalCount: total)
                    == String(decoding: handler.line(for: event, at: time), as: UTF8.self))
        }
    }

    @Test(arguments: [LogFormat.text, .json])
    func `the line of a request whose client had gone says so, without a status`(format: LogFormat) {
        let handler = LineLogHandler(label: "sluice", format: format)
        let event = LogEvent(
            level: .info, message: "Request abandoned",
            metadata: ["request.id": "018f", "method": "POST", "route": "/v1/{id}", "duration.us": "1234"],
            source: "GatewayAPI", file: #fileID, function: #function, line: #line)
        #expect(
            requestLine(format, status: nil) == String(decoding: handler.line(for: event, at: time), as: UTF8.self))
    }

    private func requestLine(
        _ format: LogFormat, status: Int? = 201, microseconds: Int64 = 1234, principal: Principal? = nil,
        row: String? = nil, code: String? = nil, cause: Cause? = nil, refusals: [RefusalNote] = [],
        refusalCount: Int = 0, client: String? = nil, trace: TraceContext? = nil
    ) -> String {
        let log = LineRequestLog(label: "sluice", format: format, logLevel: .info)
        var clock = LogClock()
        var lines: [UInt8] = []
        log.append(
            AnsweredRequest(
                id: "018f", method: "POST", route: "/v1/{id}", status: status, microseconds: microseconds,
                principal: principal, row: row, code: code, cause: cause, refusals: refusals,
                refusalCount: refusalCount,
                sourceAddress: client.flatMap { IPAddress($0) }, trace: trace),
            at: clock.time(of: time), to: &lines)
        return String(decoding: lines, as: UTF8.self)
    }
}
