import Foundation
import Signing
import TestSupport
import Testing

/// The fixed callback of a bucket at Alibaba OSS. SDKs compose its JSON by themselves: that of iOS writes `/`, that of
/// Android `\/`, and both write the members in the order of a hash table.
@Suite("Callbacks in strings to sign")
struct CallbackStringTests {
    /// Where a request has its callback.
    enum Form: CaseIterable {
        case headerV1, queryV1, headerV4, queryV4

        /// A request with a callback, and perhaps with variables.
        func permit(
            _ callback: String, _ variables: String?, by rule: StringRules.Callback?, method: String = "PUT"
        ) throws -> (sent: String, permitted: PermittedString) {
            let now = try #require(SigningInstant(extended: "2024-05-17T08:30:00Z"))
            let values = [("callback", callback)] + (variables.map { [("callback-var", $0)] } ?? [])
            let headers = values.map { "x-oss-\($0):\($1)\n" }.joined()
            switch self {
            case .headerV1, .queryV1:
                let query = "?" + values.map { "\($0)=\($1)" }.joined(separator: "&")
                let text =
                    "\(method)\n\nimage/png\nFri, 17 May 2024 08:30:00 GMT\n\(self == .headerV1 ? headers : "")"
                    + "/demo-bucket/u/a.png\(self == .headerV1 ? "" : query)"
                let rules = StringRules(now: now, maxLifeSeconds: 3600, callback: rule)
                return (text, try ReceivedStringToSign(text, vendor: .alibaba).permitted(by: rules))
            case .headerV4, .queryV4:
                let query = values.map { "\($0)=\(Self.escaped($1))" }.joined(separator: "&")
                var asked = try Asked.oss(
                    "\(method)\n/demo-bucket/u/a.png\n\(self == .headerV4 ? "" : query)\ncontent-type:image/png\n"
                        + "\(self == .headerV4 ? headers : "")x-oss-content-sha256:UNSIGNED-PAYLOAD\n"
                        + "x-oss-date:20240517T083000Z\n\n\nUNSIGNED-PAYLOAD",
                    token: nil)
                asked.callback = rule
                return (asked.stringToSign, try asked.permit())
            }
        }

        private static func escaped(_ base64: String) -> String {
            base64.replacing("+", with: "%2B").replacing("/", with: "%2F").replacing("=", with: "%3D")
        }
    }

    private static let members = [
        ("callbackUrl", "https://app.example/oss/done"), ("callbackBody", "bucket=${bucket}&size=${size}&é=1"),
        ("callbackBodyType", "application/x-www-form-urlencoded"),
    ]
    private static let variables = [("x:a", "b/c"), ("x:d", "")]

    private static func base64(_ json: String) -> String { Data(json.utf8).base64EncodedString() }

    /// One JSON object, in one of the ways to write it.
    private static func json(
        _ members: [(String, String)], isReversed: Bool = false, isEscaped: Bool = false, isSpaced: Bool = false
    ) -> String {
        let (colon, comma) = isSpaced ? (" : ", " ,\n\t") : (":", ",")
        let pieces = members.map { name, value in
            "\"\(name)\"\(colon)\"\(isEscaped ? value.replacing("/", with: "\\/") : value)\""
        }
        let body = (isReversed ? pieces.reversed() : pieces).joined(separator: comma)
        return isSpaced ? " { \(body) } " : "{\(body)}"
    }

    private static let rule = StringRules.Callback(value: base64(json(members)), variables: base64(json(variables)))

    @Test("that say what the bucket's says are permitted, and signed as they were sent", arguments: Form.allCases)
    func equivalent(form: Form) throws {
        for isReversed in [false, true] {
            for isEscaped in [false, true] {
                for isSpaced in [false, true] {
                    func written(_ members: [(String, String)]) -> String {
                        Self.base64(
                            Self.json(members, isReversed: isReversed, isEscaped: isEscaped, isSpaced: isSpaced))
                    }
                    let about = "\(isReversed) \(isEscaped) \(isSpaced)"
                    let (callback, variables) = (written(Self.members), written(Self.variables))
                    let (sent, permitted) = try form.permit(callback, variables, by: Self.rule)
                    #expect(permitted.text == sent && permitted.permission.operation == .putObject, "\(about)")
                    #expect(permitted.permission.query.isEmpty && permitted.permission.headers.isEmpty, "\(about)")
                    let bare = StringRules.Callback(value: Self.rule.value, variables: nil)
                    #expect(try form.permit(callback, nil, by: bare).permitted.permission.key == "u/a.png")

                    // The same with one value, or one member, that is another.
                    for place in Self.members.indices {
                        var changed = Self.members
                        changed[place].1 += "x"
                        var renamed = Self.members
                        renamed[place].0 += "x"
                        var shorter = Self.members
                        shorter.remove(at: place)
                        for other in [changed, renamed, shorter, Self.members + [("callbackSNI", "true")]] {
                            #expect(throws: StringToSignRefusal.callback, "\(about) \(other)") {
                                _ = try form.permit(written(other), variables, by: Self.rule)
                            }
                        }
                    }
                    for other in [[("x:a", "b/c")], [("x:a", "b/c"), ("x:d", "e")], [("x:a", "b/c"), ("x:e", "")]] {
                        #expect(throws: StringToSignRefusal.callback, "\(about) \(other)") {
                            _ = try form.permit(callback, written(other), by: Self.rule)
                        }
                    }
                    for (rule, method) in [(bare, "PUT"), (nil, "PUT"), (Self.rule, "GET")]
                        as [(StringRules.Callback?, String)]
                    {
                        #expect(throws: StringToSignRefusal.callback, "\(about) \(method)") {
                            _ = try form.permit(callback, variables, by: rule, method: method)
                        }
                    }
                    #expect(throws: StringToSignRefusal.callback, "\(about)") {
                        _ = try form.permit(callback, nil, by: Self.rule)
                    }
                }
            }
        }
    }

    @Test("that others may read in another way are refused", arguments: Form.allCases)
    func ambiguous(form: Form) {
        let json = Self.json(Self.members)
        let twice = json.replacing("{", with: #"{"callbackUrl":"https://evil.example/","#, maxReplacements: 1)
        // With its duplicate, it has as many members as the bucket's.
        let (url, type) = (Self.json([Self.members[0]]).dropFirst().dropLast(), Self.json([Self.members[2]]))
        let instead = json.replacing(type.dropFirst().dropLast(), with: url)
        let values = [
            Self.base64(twice), Self.base64(instead), Self.base64("\u{FEFF}" + json), Self.base64(json + "\0"),
            Self.base64(json + "{}"),
            Self.base64("[\(json)]"), Self.base64(json.replacing("é", with: "e\u{301}")), json,
            Self.base64(json.replacing("\"", with: "'")), Self.base64(json) + "=", "e30=",
        ]
        for value in values {
            #expect(throws: StringToSignRefusal.self, "\(value)") {
                _ = try form.permit(value, Self.rule.variables, by: Self.rule)
            }
        }
    }

    @Test("that are changed at random are permitted only if they say the same", arguments: 0..<10)
    func mutations(seed: UInt64) throws {
        var random = SeededGenerator(seed: 300 + seed)
        let pieces = [" ", "\n", "\\/", "\\u002f", "\\", "/", "\"", ",", ":", "{", "}", "\0", "é", "\u{301}", "1"]
        let forms = Form.allCases
        let original = Self.json(Self.members)
        var permitted = 0
        for number in 0..<StringFuzzTests.stringsPerSeed / 2 {
            var text = Array(original.utf8)
            for _ in 0..<Int.random(in: 0...2, using: &random) {
                let place = Int.random(in: 0..<text.count, using: &random)
                let piece = pieces.randomElement(using: &random) ?? " "
                switch Int.random(in: 0..<3, using: &random) {
                case 0: text.insert(contentsOf: piece.utf8, at: place)
                case 1: text.replaceSubrange(place...place, with: piece.utf8)
                default: text.remove(at: place)
                }
            }
            let value = Data(text).base64EncodedString()
            guard (try? forms[number % forms.count].permit(value, Self.rule.variables, by: Self.rule)) != nil else {
                continue
            }
            permitted += 1
            // Read by another reader, and compared as bytes.
            let read = try #require(try JSONSerialization.jsonObject(with: Data(text)) as? [String: String])
            let isSame =
                read.count == Self.members.count
                && Self.members.allSatisfy { name, value in read[name].map { Array($0.utf8) } == Array(value.utf8) }
            #expect(isSame, "\(String(decoding: text, as: UTF8.self))")
        }
        #expect(permitted > 0)
    }
}
