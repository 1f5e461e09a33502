import Foundation
import Testing

@Suite("sluice sign", .timeLimit(.minutes(1)))
struct SignCommandTests {
    private static let inputs: [String: any Sendable] = [
        "endpoint": "https://s3.eu-west-1.amazonaws.com", "region": "eu-west-1", "bucket": "demo",
        "addressing": "virtual", "key": "a.txt", "method": "GET", "access_key_id": "AKIDEXAMPLE",
        "secret_access_key": "do-not-show", "now": "2024-05-17T08:30:00Z", "expires_in": 900,
    ]

    private func line(scheme: String = "aws-v4-query", _ changes: [String: any Sendable] = [:]) throws -> Data {
        let inputs = Self.inputs.merging(changes) { $1 }
        let line: [String: Any] = ["name": "n", "scheme": scheme, "inputs": inputs]
        return try JSONSerialization.data(withJSONObject: line) + Data("\n".utf8)
    }

    @Test func answersEachLineBeforeTheNextIsThere() throws {
        let process = Process()
        let (input, output) = (Pipe(), Pipe())
        process.executableURL = Command.program
        process.arguments = ["sign"]
        process.standardInput = input
        process.standardOutput = output
        try process.run()
        for _ in 0..<3 {
            try input.fileHandleForWriting.write(contentsOf: line())
            var answer = Data()
            while answer.last != UInt8(ascii: "\n") {
                let more = output.fileHandleForReading.availableData
                try #require(!more.isEmpty)
                answer += more
            }
            #expect(try JSONDecoder().decode(SignAnswer.self, from: answer).signature?.count == 64)
        }
        try input.fileHandleForWriting.close()
        process.waitUntilExit()
        #expect(process.terminationStatus == 0)
    }

    @Test func inputThatCannotBeReadIsNoEnd() throws {
        let run = try Command.run(
            ["-c", "exec \"$0\" sign < /", Command.program.path], of: URL(filePath: "/bin/sh"))
        #expect(run.status == 1 && run.errors.contains("Standard input cannot be read"), "\(run.errors)")
    }

    @Test func aBadLineIsAnsweredAndTheRestGoesOn() throws {
        let bad = [
            ("{", "MalformedLine"), ("[]", "MalformedLine"), ("\u{FF}", "MalformedLine"),
            (#"{"name": "n"}"#, "InvalidInput"),
            (String(repeating: "x", count: 1 << 20) + "x", "LineTooLong"),
            (String(repeating: "x", count: 3 << 20), "LineTooLong"),
        ]
        for (text, code) in bad {
            let (status, answers) = try SignAnswer.of(Data("\(text)\n\n".utf8) + line())
            #expect(status == 1)
            try #require(answers.count == 2)
            #expect(answers[0].error?.code == code)
            #expect(answers[1].signature != nil)
        }
    }

    @Test func theLastLineNeedsNoLineFeed() throws {
        #expect(try SignAnswer.of(line().dropLast()).answers.first?.signature != nil)
        let nothing = try SignAnswer.of(Data())
        #expect(nothing.status == 0 && nothing.answers.isEmpty)
    }

    @Test(arguments: [
        ("now", "yesterday", "InvalidInput"), ("addressing", "sideways", "InvalidInput"),
        ("endpoint", "ftp://example.com", "InvalidEndpoint"), ("endpoint", "https://127.0.0.1", "InvalidBucketName"),
        ("bucket", "", "InvalidBucketName"), ("region", "a/b", "InvalidCredentialScope"),
        ("method", "get", "InvalidMethod"),
        ("path_slash_encoding", "%5C", "InvalidInput"), ("path_as_sent", "/b.txt", "PathNamesAnotherObject"),
    ])
    func namesTheMistake(input: String, value: String, code: String) throws {
        let (status, answers) = try SignAnswer.of(line([input: value]))
        #expect(status == 1)
        #expect(answers.first?.name == "n")
        #expect(answers.first?.error?.code == code)
    }

    @Test(arguments: [0, 604_801, -1])
    func refusesALifeThatStoresRefuse(seconds: Int) throws {
        #expect(try SignAnswer.of(line(["expires_in": seconds])).answers.first?.error?.code == "ExpiryOutOfRange")
    }

    @Test func listsTheSchemesWhenItDoesNotKnowOne() throws {
        let error = try SignAnswer.of(line(scheme: "aws-v5")).answers.first?.error
        #expect(error?.code == "UnsupportedScheme")
        #expect(error?.detail.contains("aws-v4-query") == true)
    }

    @Test func neverRepeatsTheSecret() throws {
        let changes: [[String: any Sendable]] = [[:], ["now": 1], ["expires_in": 0], ["region": ""]]
        for change in changes {
            let result = try Command.run(["sign"], input: line(change))
            #expect(!result.output.isEmpty)
            #expect(!result.output.contains("do-not-show"))
        }
    }

    @Test(arguments: ["../up", "/lead", "a//b", "", "\u{0}", "${x}", "é", "e\u{301}"])
    func signsKeysThatTheGatewayWouldRefuse(key: String) throws {
        let answer = try #require(try SignAnswer.of(line(["key": key])).answers.first)
        #expect(answer.path?.removingPercentEncoding.map { Array($0.utf8) } == Array("/\(key)".utf8))
    }

    @Test func writesThePathAsAsked() throws {
        let plain = try #require(try SignAnswer.of(line(["key": "a/b c"])).answers.first)
        #expect(plain.path == "/a/b%20c")
        let escaped = try #require(
            try SignAnswer.of(line(["key": "a/b c", "path_slash_encoding": "%2F"])).answers.first)
        #expect(escaped.path == "/a%2Fb%20c")
        let asSent = try #require(
            try SignAnswer.of(line(["key": "a/b c", "path_as_sent": "/%61/b%20c"])).answers.first)
        #expect(asSent.path == "/%61/b%20c")
        #expect(asSent.url?.contains("/%61/b%20c?") == true)
        #expect(Set([plain.signature, escaped.signature, asSent.signature]).count == 1)
    }

    @Test func theExampleOfTheHelpWorksWhenPasted() throws {
        let answer = try Command.runExample(ofHelpFor: "sign")
        #expect(try JSONDecoder().decode(SignAnswer.self, from: Data(answer.utf8)).path == "/a%20b.txt")
    }
}
