import ContractTesting
import Testing

@Suite("A schema") struct JSONSchemaTests {
    /// A schema with values that fit and values that do not. The values of a pair differ in the point that the keyword
    /// tests.
    static let rows: [(schema: String, fits: [String], fails: [String])] = [
        ("type: string", ["a", "''"], ["1", "true", "null", "[a]", "{a: b}"]),
        ("type: integer", ["1", "-1", "1.0"], ["1.5", "'1'", "true"]),
        ("type: number", ["1", "1.5"], ["'1'", "false"]),
        ("type: boolean", ["true"], ["1", "'true'"]),
        ("type: [string, 'null']", ["a", "null"], ["1"]),
        ("enum: [a, 1]", ["a", "1", "1.0"], ["b", "'1'", "true"]),
        ("const: true", ["true"], ["1", "'true'", "false"]),
        ("{minLength: 2, maxLength: 3}", ["ab", "🇨🇭a"], ["a", "abcd", "🇨🇭🇨🇭"]),
        ("pattern: '^a+$'", ["aa"], ["b", "ab", "\"a\\n\""]),
        ("format: uuid", ["0198c5a1-7a3b-7c11-9f6e-3f1d2c4b5a69"], ["0198c5a1", "0198c5a17a3b7c119f6e3f1d2c4b5a69"]),
        ("format: date-time", ["'2030-03-17T18:01:40Z'"], ["'2030-03-17'", "'2030-03-17T18:01:40'"]),
        ("format: uri", ["https://a.example/b"], ["/b", "'https://a b'", "''"]),
        ("format: nobody-knows", [], ["a"]),
        ("{minimum: 1, maximum: 2}", ["1", "2", "1.5"], ["0", "3", "0.99"]),
        ("{exclusiveMinimum: 1, exclusiveMaximum: 3}", ["2"], ["1", "3"]),
        ("multipleOf: 4", ["8", "0"], ["6"]),
        ("{minItems: 1, maxItems: 2, items: {type: string}}", ["[a]", "[a, b]"], ["[]", "[a, b, c]", "[1]"]),
        ("uniqueItems: true", ["[a, b]"], ["[a, a]"]),
        ("contains: {const: a}", ["[b, a]"], ["[b]", "[]"]),
        ("{prefixItems: [{type: string}], items: {type: integer}}", ["[a, 1]"], ["[1]", "[a, b]"]),
        ("{properties: {a: {type: string}}, required: [a]}", ["{a: b}", "{a: b, c: 1}"], ["{}", "{a: 1}"]),
        ("{properties: {a: {}}, additionalProperties: false}", ["{a: 1}", "{}"], ["{b: 1}"]),
        ("{additionalProperties: {type: string}}", ["{a: b}"], ["{a: 1}"]),
        (
            "{patternProperties: {'^x-': {type: integer}}, additionalProperties: false}", ["{x-a: 1}"],
            ["{x-a: b}", "{a: 1}"]
        ),
        ("propertyNames: {enum: [a, b]}", ["{a: 1}"], ["{c: 1}"]),
        ("{minProperties: 1, maxProperties: 1}", ["{a: 1}"], ["{}", "{a: 1, b: 2}"]),
        ("dependentRequired: {a: [b]}", ["{a: 1, b: 1}", "{b: 1}"], ["{a: 1}"]),
        ("oneOf: [{required: [a]}, {required: [b]}]", ["{a: 1}", "{b: 1}"], ["{}", "{a: 1, b: 1}"]),
        ("anyOf: [{required: [a]}, {required: [b]}]", ["{a: 1}", "{a: 1, b: 1}"], ["{}"]),
        ("allOf: [{required: [a]}, {required: [b]}]", ["{a: 1, b: 1}"], ["{a: 1}", "{b: 1}"]),
        ("not: {required: [a]}", ["{b: 1}"], ["{a: 1}"]),
        (
            "{if: {required: [a]}, then: {required: [b]}, else: {required: [c]}}", ["{a: 1, b: 1}", "{c: 1}"],
            ["{a: 1}", "{}"]
        ),
        ("{$ref: '#/named', maxLength: 2}", ["a"], ["1", "abc"]),
        ("$ref: '#/absent'", [], ["a"]),
        ("$ref: '#/endless'", [], ["a"]),
        ("unheardOf: 1", [], ["a"]),
    ]

    @Test("takes what fits and refuses what does not", arguments: rows.indices)
    func judges(row: Int) throws {
        let (text, fits, fails) = Self.rows[row]
        let root = try JSONNode(yaml: "{named: {type: string}, endless: {$ref: '#/endless'}}")
        let (schemas, schema) = (JSONSchema(root: root), try JSONNode(yaml: text))
        for value in fits { #expect(schemas.flaws(of: try JSONNode(yaml: value), against: schema) == [], "\(value)") }
        for value in fails {
            #expect(!schemas.flaws(of: try JSONNode(yaml: value), against: schema).isEmpty, "\(text): \(value)")
        }
    }
}

@Suite("An exchange") struct ExchangeTests {
    static let yaml = """
        paths:
          /v1/things:
            post:
              parameters:
                - { name: dry, in: query, schema: { type: boolean } }
              requestBody:
                content:
                  application/json: { schema: { type: object, properties: { a: { type: string } }, additionalProperties: false } }
              responses:
                '201':
                  headers:
                    X-Request-Id: { required: true, schema: { type: string } }
                    Retry-After: { schema: { type: integer } }
                  content:
                    application/json: { schema: { type: object, required: [id] } }
                '204': { description: Nothing. }
          /v1/things/{id}:
            get: { responses: { '200': { content: { text/plain: { schema: { type: string } } } } } }
          /v1/things/{id}:do:
            get: { responses: { '202': { description: Done. } } }
          /v1/all/{bucket}/{key}:
            get: { responses: { '303': { description: Elsewhere. } } }
        components:
          headers:
            RequestId: { schema: { type: string } }
            Allow: { required: true, schema: { type: string } }
            RetryAfter: { schema: { type: integer } }
          schemas:
            Problem: { type: object, required: [status, code] }
        """

    private func flaws(
        _ method: String, _ target: String, _ status: Int, headers: [(name: String, value: String)] = [],
        type: String? = "application/json", _ body: String = "", sent: String = "",
        sentType: String = "application/json"
    ) throws -> [String] {
        var fields = [(name: "X-Request-Id", value: "r")]
        if let type, !body.isEmpty { fields.append((name: "Content-Type", value: type)) }
        let exchange = Exchange(
            method, target, sent: Array(sent.utf8), sentType: sent.isEmpty ? nil : sentType, status: status,
            headers: headers + fields, body: Array(body.utf8))
        return try ContractDocument(yaml: Self.yaml).flaws(of: exchange).filter {
            !$0.contains("header X-Request-Id is not")
        }
    }

    @Test("as described has no flaws") func good() throws {
        #expect(try flaws("POST", "/v1/things?dry=true", 201, "{\"id\":1}", sent: #"{"a":"b"}"#) == [])
        #expect(try flaws("POST", "/v1/things", 201, headers: [("retry-after", "3")], "{\"id\":1}") == [])
        #expect(try flaws("POST", "/v1/things", 201, "{\"id\":1}", sent: #"{"a":null}"#) == [])
        #expect(try flaws("GET", "/v1/things/7", 200, type: "text/plain; charset=utf-8", "x") == [])
        #expect(try flaws("HEAD", "/v1/things/7", 200) == [])
        #expect(try flaws("GET", "/v1/things/a:b:do", 202) == [])
        #expect(try flaws("GET", "/v1/all/b/c/d%20e/f", 303) == [])
        #expect(try flaws("OPTIONS", "/v1/things", 204, headers: [("Allow", "POST")]) == [])
        let (type, gone) = ("application/problem+json", #"{"status":404,"code":"NoSuchRoute"}"#)
        #expect(try flaws("GET", "/v2", 404, type: type, gone) == [])
        #expect(try flaws("POST", "/v1/things", 404, type: type, gone) == [])
        let other = #"{"status":405,"code":"MethodNotAllowed"}"#
        #expect(try flaws("PUT", "/v1/things", 405, headers: [("Allow", "POST")], type: type, other) == [])
    }

    @Test("that differs from the description in anything has a flaw") func bad() throws {
        let (type, gone) = ("application/problem+json", #"{"status":404,"code":"NoSuchThing"}"#)
        for flaws in [
            try flaws("POST", "/v1/things", 200, "{\"id\":1}"),
            try flaws("POST", "/v1/things", 201, "{}"),
            try flaws("POST", "/v1/things", 201, "{\"id\""),
            try flaws("POST", "/v1/things", 201, type: nil, "{\"id\":1}"),
            try flaws("POST", "/v1/things", 201, type: "text/html", "{\"id\":1}"),
            try flaws("POST", "/v1/things", 204, "{\"id\":1}"),
            try flaws("POST", "/v1/things", 201, headers: [("X-Other", "1")], "{\"id\":1}"),
            try flaws("POST", "/v1/things", 201, headers: [("Retry-After", "soon")], "{\"id\":1}"),
            try flaws("POST", "/v1/things?wet=1", 201, "{\"id\":1}"),
            try flaws("POST", "/v1/things", 201, "{\"id\":1}", sent: #"{"a":1}"#),
            try flaws("POST", "/v1/things", 201, "{\"id\":1}", sent: #"{"b":"c"}"#),
            try flaws("POST", "/v1/things", 201, "{\"id\":1}", sent: "a,b", sentType: "text/csv"),
            try flaws("POST", "/v1/things", 404, type: type, gone),
            try flaws("GET", "/v1/things/7", 202),
            try flaws("GET", "/v1/things/a:do", 200, type: "text/plain", "x"),
            try flaws("GET", "/v1/things/7/8", 200, type: "text/plain", "x"),
            try flaws("GET", "/v2", 200, "{}"),
            try flaws("GET", "/v2", 400, type: type, #"{"status":404,"code":"NoSuchRoute"}"#),
            try flaws("PUT", "/v1/things", 405, type: type, #"{"status":405,"code":"MethodNotAllowed"}"#),
        ] { #expect(!flaws.isEmpty) }
        let unnamed = Exchange(
            "POST", "/v1/things", status: 201, headers: [("Content-Type", "application/json")],
            body: Array("{\"id\":1}".utf8))
        #expect(try ContractDocument(yaml: Self.yaml).flaws(of: unnamed).count == 1)
    }
}
