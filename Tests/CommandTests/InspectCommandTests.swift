import Foundation
import Testing

@Suite("sluice inspect", .timeLimit(.minutes(1)))
struct InspectCommandTests {
    private func inspect(_ lines: [[String: Any]]) throws -> (status: Int32, answers: [[String: Any]]) {
        var input = Data()
        for line in lines { input += try JSONSerialization.data(withJSONObject: line) + Data("\n".utf8) }
        let result = try Command.run(["inspect"], input: input)
        let answers = try result.output.split(separator: "\n").map {
            try #require(try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any])
        }
        return (result.status, answers)
    }

    private func line(_ text: String, _ changes: [String: Any] = [:]) -> [String: Any] {
        let line: [String: Any] = [
            "name": "n", "now": "2024-05-17T08:30:00Z", "max_presign_ttl": 3600, "string_to_sign": text,
        ]
        return line.merging(changes) { $1 }
    }

    @Test func agreesWithEveryCase() throws {
        let file = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../SigningTests/Vectors/string-to-sign/cases.json")
        let cases = try #require(try JSONSerialization.jsonObject(with: Data(contentsOf: file)) as? [[String: Any]])
        #expect(cases.count == 15)
        let asked = ["name", "now", "max_presign_ttl", "string_to_sign"]
        let (status, answers) = try inspect(cases.map { $0.filter { asked.contains($0.key) } })
        #expect(status == 0)
        try #require(answers.count == cases.count)
        for (answer, expected) in zip(answers, cases) {
            let members = [
                "name", "verdict", "action", "bucket", "key", "sub_resources", "oss_headers", "date_kind", "why",
            ]
            #expect(Set(answer.keys) == Set(members))
            for member in members.dropLast() {
                #expect((answer[member] as? NSObject) == (expected[member] as? NSObject), "\(member)")
            }
            // Only the presence of `why` is compared: its wording is the program's own.
            #expect(answer["why"] is NSNull == expected["why"] is NSNull)
        }
    }

    @Test func saysWhichMemberCannotBeRead() throws {
        let wrong: [String: (value: Any, detail: String)] = [
            "scheme": ("oss-v9", "'scheme' has a value of the wrong kind."),
            "max_presign_ttl": ("3600", "'max_presign_ttl' has a value of the wrong kind."),
            "addressing": ("host", "'addressing' has a value of the wrong kind."),
            "now": (NSNull(), "'now' has a value of the wrong kind."),
        ]
        for (member, (value, detail)) in wrong {
            let (status, answers) = try inspect([line("GET", [member: value])])
            #expect(status == 1)
            let answer = try #require(answers.first)
            #expect(answer["name"] as? String == "n")
            #expect(answer["error"] as? [String: String] == ["code": "InvalidInput", "detail": detail])
        }
        let absent = try #require(try inspect([["name": "n", "now": "2024-05-17T08:30:00Z"]]).answers.first)
        #expect((absent["error"] as? [String: String])?["detail"] == "'max_presign_ttl' is absent.")
    }

    @Test func readsTheInteroperabilityOfGoogle() throws {
        let string = "PUT\n1B2M2Y8AsgTpgAmY7PhCfg==\nimage/jpeg\nFri, 17 May 2024 17:30:00 +0900\n/photos/a%20b.jpg"
        let answer = try #require(try inspect([line(string, ["scheme": "aws-v2"])]).answers.first)
        #expect(answer["verdict"] as? String == "authorise")
        #expect(answer["key"] as? String == "a b.jpg")
        #expect(answer["date_kind"] as? String == "http-date")
    }

    @Test func readsTheRequestBehindAHash() throws {
        let file = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../SigningTests/Vectors/oss_v4_query.json")
        let vectors = try #require(try JSONSerialization.jsonObject(with: Data(contentsOf: file)) as? [[String: Any]])
        let vector = try #require(vectors.first { $0["name"] as? String == "oss4-put-content-type" })
        let inputs = try #require(vector["inputs"] as? [String: Any])
        let expected = try #require(vector["expected"] as? [String: Any])
        var asked = line(try #require(expected["string_to_sign"] as? String))
        let names = ["endpoint", "bucket", "addressing", "region", "access_key_id", "now"]
        asked.merge(inputs.filter { names.contains($0.key) }) { $1 }
        asked["scheme"] = "oss-v4"
        var complete = asked
        complete["canonical_request"] = expected["canonical_request"]
        var incomplete = complete
        incomplete["region"] = nil
        let (status, answers) = try inspect([asked, complete, incomplete])
        #expect(status == 1)
        try #require(answers.count == 3)
        #expect((answers[0]["why"] as? String)?.contains("send the canonical request") == true)
        #expect(answers[1]["verdict"] as? String == "authorise")
        #expect(answers[1]["key"] as? String == inputs["key"] as? String)
        #expect(answers[1]["date_kind"] as? String == "epoch")
        #expect((answers[2]["error"] as? [String: String])?["detail"] == "'region' is absent.")
    }

    @Test func aTokenIsKnownByTheCredential() throws {
        let string = "GET\n\n\nFri, 17 May 2024 08:30:00 GMT\nx-oss-security-token:ours\n/demo/a"
        let (_, answers) = try inspect([line(string), line(string, ["security_token": "ours"])])
        #expect(answers.map { $0["verdict"] as? String } == ["refuse", "authorise"])
        #expect(!"\(answers)".contains("ours"))
    }

    @Test func nothingThatATerminalObeysIsPrinted() throws {
        let name = "n\u{9b}31m\u{202e}"
        let asked = try JSONSerialization.data(withJSONObject: line("", ["name": name])) + Data("\n".utf8)
        let output = try Command.run(["inspect"], input: asked).output
        #expect(output.contains(#""n\u009b31m\u202e""#) && !output.unicodeScalars.contains("\u{9b}"), "\(output)")
    }

    @Test func inputThatCannotBeReadIsNoEnd() throws {
        let run = try Command.run(
            ["-c", "exec \"$0\" inspect < /", Command.program.path], of: URL(filePath: "/bin/sh"))
        #expect(run.status == 1 && run.errors.contains("Standard input cannot be read"), "\(run.errors)")
    }

    @Test func aBadLineIsAnsweredAndTheRestGoesOn() throws {
        let good = try JSONSerialization.data(withJSONObject: line("GET\n\n\n1715936400\n/demo/a")) + Data("\n".utf8)
        for bad in ["{", "[]", #"{"name": "n"}"#, String(repeating: "x", count: 1 << 20) + "x", "\u{FF}"] {
            let result = try Command.run(["inspect"], input: Data("\(bad)\n\n".utf8) + good)
            #expect(result.status == 1)
            let lines = result.output.split(separator: "\n")
            try #require(lines.count == 2)
            #expect(lines[0].contains("\"error\""))
            #expect(lines[1].contains("\"authorise\""))
        }
        let answer = try #require(try inspect([line("", ["now": "today"])]).answers.first)
        #expect(answer["name"] as? String == "n")
        #expect((answer["error"] as? [String: String])?["code"] == "InvalidInput")
    }

    @Test func theExampleOfTheHelpWorksWhenPasted() throws {
        let answer = try Command.runExample(ofHelpFor: "inspect")
        #expect(answer.contains("\"authorise\""))
    }
}
