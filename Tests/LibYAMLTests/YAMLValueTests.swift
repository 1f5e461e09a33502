import Testing

@testable import LibYAML

@Suite struct YAMLValueTests {
    @Test(arguments: [
        ("", YAMLValue.null), ("~", .null), ("null", .null), ("true", .bool(true)), ("FALSE", .bool(false)),
        ("0", .integer(0)), ("+12", .integer(12)), ("-7", .integer(-7)), ("007", .integer(7)),
        ("9223372036854775808", .number(9_223_372_036_854_775_808)), ("1.0", .number(1)), ("-2.5e3", .number(-2500)),
        (".5", .number(0.5)), ("1e400", .string("1e400")),
        ("yes", .string("yes")), ("tRUE", .string("tRUE")), ("nan", .string("nan")), (".inf", .string(".inf")),
        ("0x1p3", .string("0x1p3")), ("1_000", .string("1_000")), ("-", .string("-")),
        ("2026-01-02", .string("2026-01-02")),
        ("12:30", .string("12:30")), ("a b", .string("a b")),
    ])
    func `A plain scalar is what the core schema says`(text: String, value: YAMLValue) {
        #expect(YAMLValue(plain: text) == value)
    }

    @Test func `Members keep their order, and quoted scalars and blocks are texts`() throws {
        let text = """
            # A comment.
            zebra: '1'
            ant: "true\\u00e9"
            200: |
              two
              lines
            list:
              - >-
                folded
                lines
              - [1, {flow: ~}, ]
              -
            """
        #expect(
            try YAMLValue(yaml: text)
                == .mapping([
                    .init("zebra", .string("1")), .init("ant", .string("trueé")),
                    .init("200", .string("two\nlines\n")),
                    .init(
                        "list",
                        .sequence([
                            .string("folded lines"),
                            .sequence([.integer(1), .mapping([.init("flow", .null)])]),
                            .null,
                        ])),
                ]))
    }

    @Test(arguments: [
        ("", 1, "no document"), ("# Nothing.\n", 2, "no document"), ("a: 1\n---\nb: 2", 2, "more than one"),
        ("a: 1\nb: 2\na: 3", 3, "'a' is named twice"), ("a: 1\n? [b]\n: 2", 2, "not a scalar"),
        ("a: &x 1", 1, "Anchors and tags"), ("a: &x [1]", 1, "Anchors and tags"), ("a: !!str 1", 1, "Anchors and tags"),
        ("a: !!map {}", 1, "Anchors and tags"), ("a:\n  *x", 2, "Aliases"), ("a: 1\nb: [2", 3, "expected"),
        ("a: 1\n b: 2", 2, "not allowed"), ("\ta: 1", 1, "token"), ("a: \"\\q\"", 1, "escape"),
    ])
    func `A flaw is told with its line`(text: String, line: Int, reason: String) {
        do throws(YAMLFlaw) {
            let value = try YAMLValue(yaml: text)
            Issue.record("\(text) is read as \(value)")
        } catch {
            #expect(error.line == line && error.reason.contains(reason), "\(text): \(error)")
        }
    }

    @Test func `Nesting is limited`() {
        let levels = { String(repeating: "[", count: $0) + String(repeating: "]", count: $0) }
        #expect(throws: Never.self) { try YAMLValue(yaml: levels(64)) }
        #expect(throws: YAMLFlaw.self) { try YAMLValue(yaml: levels(65)) }
    }
}
