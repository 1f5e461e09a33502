import Foundation
import HTTPTypes
import Testing

@Suite("A simulation")
struct SimulateEndpointTests {
    private static let deny =
        #"{"principal":"*","bucket":"photos","prefix":"uploads/private/","actions":["PutObject"],"effect":"deny"}"#

    private func simulate(_ json: String, token: String = "auditor-token") async -> TestAnswer {
        await TestGateway().send(.post, "/admin/v1/simulate", token: token, json: json)
    }

    @Test("is for auditors, and tells what would be refused")
    func refused() async throws {
        let question = #"{"add":[\#(Self.deny)],"days":3}"#
        #expect(await simulate(question, token: "user-token").status == 403)
        let answer = await simulate(question)
        #expect(answer.status == 200 && answer.number("examined") == 2 && answer.number("refused") == 1)
        #expect(answer.json["isComplete"] as? Bool == true)
        let example = try #require((answer.json["examples"] as? [[String: Any]])?.first)
        #expect((example["issuance"] as? [String: Any])?["key"] as? String == "uploads/private/")
        #expect((example["told"] as? [String: Any])?["code"] as? String == "AccessDenied")
        #expect((example["decidedBy"] as? [String: Any])?["effect"] as? String == "deny")
    }

    @Test(
        "is not made of a change that is none",
        arguments: [
            ("{}", "add"), (#"{"days":0,"remove":[]}"#, "days"), (#"{"days":367,"remove":[]}"#, "days"),
            (#"{"remove":["x"]}"#, "remove[0]"), (#"{"remove":["018f0000-0000-7000-8000-0000000000ff"]}"#, "remove[0]"),
            (#"{"add":[{}]}"#, "add[0].principal"), (#"{"add":[1]}"#, "add[0]"),
            (#"{"add":[{"principal":"*","bucket":"photos","prefix":"a","actions":[]}]}"#, "add[0].actions"),
            (#"{"replace":[\#(deny)]}"#, "replace[0].id"),
            (#"{"addMembers":[{"group":"user:a","member":"user:a"}]}"#, "addMembers[0].group"),
            (#"{"removeMembers":[{"group":"group:a","member":"*"}]}"#, "removeMembers[0].member"),
            (
                #"{"addMembers":[{"group":"group:a","member":"user:a"}],"removeMembers":[{"group":"group:a","member":"user:a"}]}"#,
                "removeMembers"
            ),
            (#"{"add":[],"drop":[]}"#, "drop"),
        ])
    func malformed(_ json: String, _ field: String) async {
        let answer = await simulate(json)
        #expect(answer.status == 400 && answer.string("field") == field, "\(answer.text)")
    }
}
