import FoundationEssentials
import LibPQ
import PostgresTesting
import Testing

@Suite(.database)
struct ValueTests {
    /// Sends values to the database and back: alone, as optionals, and in arrays with and without NULL.
    private func roundTrip<Value: PostgresScalar & Equatable>(_ values: [Value], as type: String) async throws {
        let connection = try connect()
        for value in values {
            #expect(try await connection.execute(echo(Value.self, as: type), value) == [value])
            #expect(try await connection.execute(echo(Value?.self, as: type), value) == [value])
        }
        #expect(try await connection.execute(echo(Value?.self, as: type), nil) == [nil])
        for array in [[], values, Array(repeating: values, count: 500).flatMap(\.self)] {
            #expect(try await connection.execute(echo([Value].self, as: "\(type)[]"), array) == [array])
            #expect(try await connection.execute(echo([Value]?.self, as: "\(type)[]"), array) == [array])
        }
        let sparse = [nil] + values.map(Optional.some) + [nil]
        #expect(try await connection.execute(echo([Value?].self, as: "\(type)[]"), sparse) == [sparse])
        #expect(try await connection.execute(echo([Value]?.self, as: "\(type)[]"), nil) == [nil])
        await connection.close()
    }

    @Test func numbersComeBackAsSent() async throws {
        try await roundTrip([true, false], as: "boolean")
        try await roundTrip([Int16.min, -1, 0, 1, .max], as: "smallint")
        try await roundTrip([Int32.min, -1, 0, 1, .max], as: "integer")
        try await roundTrip([Int64.min, -1, 0, 1, .max], as: "bigint")
        try await roundTrip([-Double.infinity, -0.0, 1e-308, .pi, .infinity], as: "double precision")
    }

    @Test func textAndBytesComeBackAsSent() async throws {
        let texts = [
            "", "'; DROP TABLE x; --", "\"{a,\\\"b\\\"}", "NULL", "\\", "%_$1", "日本語 🏳️‍🌈 \u{301}",
            "\n\t\u{1}\u{7f}\u{feff}",
            String(repeating: "x", count: 1 << 20),
        ]
        try await roundTrip(Array(texts.dropLast()), as: "text")
        try await roundTrip(Array(texts.dropLast()), as: "varchar")
        let connection = try connect()
        #expect(try await connection.execute(echo(String.self, as: "text"), texts[8]) == [texts[8]])
        let large = [UInt8](repeating: 0xa5, count: 8 << 20)
        #expect(try await connection.execute(echo([UInt8].self, as: "bytea"), large) == [large])
        try await roundTrip([[], [0], [0, 0xff, 0x5c, 0x27], Array(0...255)], as: "bytea")
    }

    @Test func identifiersAndInstantsComeBackAsSent() async throws {
        try await roundTrip([UUID(), UUID()], as: "uuid")
        let known = try #require(UUID(uuidString: "00112233-4455-6677-8899-aabbccddeeff"))
        let connection = try connect()
        let written = Statement<UUID, String>("SELECT $1::text") {
            [$0]
        } decode: { row throws(PostgresError) in
            try row.decode(0)
        }
        #expect(try await connection.execute(written, known) == ["00112233-4455-6677-8899-aabbccddeeff"])
        let instants = [Int64.min, -1, 0, 1, 946_684_799_999_999, 1_763_690_000_123_456, .max]
        try await roundTrip(instants.map(PostgresTimestamp.init(microsecondsSince1970:)), as: "timestamptz")
        try await roundTrip([Date(timeIntervalSince1970: 1_763_690_000.25)], as: "timestamptz")
        let epoch = query("SELECT to_timestamp(1.5)", as: PostgresTimestamp.self)
        #expect(try await connection.execute(epoch) == [PostgresTimestamp(microsecondsSince1970: 1_500_000)])
        let infinite = query("SELECT 'infinity'::timestamptz", as: PostgresTimestamp.self)
        #expect(try await connection.execute(infinite) == [PostgresTimestamp(microsecondsSince1970: .max)])
    }

    @Test func jsonIsReadAsText() async throws {
        let connection = try connect()
        let jsonb = Statement<String, String>("SELECT $1::jsonb") {
            [$0]
        } decode: { row throws(PostgresError) in
            try row.decode(0)
        }
        #expect(try await connection.execute(jsonb, #"{"a":[1,"é"]}"#) == [#"{"a": [1, "é"]}"#])
        #expect(try await connection.execute(query("SELECT '{\"b\":1}'::json")) == [#"{"b":1}"#])
        let array = query("SELECT ARRAY['1'::jsonb, NULL]", as: [String?].self)
        #expect(try await connection.execute(array) == [["1", nil]])
    }

    @Test func whatTheServerCannotStoreIsRefusedBeforeItIsSent() async throws {
        let connection = try connect()
        for text in ["\0", "a\0b"] {
            let error = await postgresError { _ = try await connection.execute(echo(String.self, as: "text"), text) }
            #expect(error == .encoding(parameter: 1, reason: "text with a NUL character"))
        }
        let error = await postgresError {
            _ = try await connection.execute(echo(Date.self, as: "timestamptz"), Date(timeIntervalSince1970: .nan))
        }
        #expect(error == .encoding(parameter: 1, reason: "date that is not a number"))
        // The connection continues as before.
        #expect(try await connection.execute(query("SELECT 1::bigint")) == [Int64(1)])
    }

    @Test(arguments: [
        ("SELECT NULL::bigint", "unexpected NULL"), ("SELECT 1::integer", "type 23 is not Int64"),
        ("SELECT 'x'", "type 25 is not Int64"), ("SELECT 1.5", "type 1700 is not Int64"),
        ("SELECT ARRAY[1::bigint]", "type 1016 is not Int64"),
    ])
    func aColumnOfAnotherTypeIsAnError(text: String, reason: String) async throws {
        let connection = try connect()
        let error = await postgresError { _ = try await connection.execute(query(text, as: Int64.self)) }
        #expect(error == .decoding(column: 0, reason: reason))
    }

    @Test func anArrayThatTheSwiftTypeCannotHoldIsAnError() async throws {
        let connection = try connect()
        for (text, reason) in [
            ("SELECT ARRAY[1::bigint, NULL]", "unexpected NULL in an array"),
            ("SELECT ARRAY[ARRAY[1::bigint], ARRAY[2]]", "array of 2 dimensions"),
            ("SELECT ARRAY[1]", "type 1007 is not Array<Int64>"),
        ] {
            let error = await postgresError { _ = try await connection.execute(query(text, as: [Int64].self)) }
            #expect(error == .decoding(column: 0, reason: reason))
        }
        let missing = Statement<Void, Int64>("SELECT 1::bigint") { row throws(PostgresError) in try row.decode(1) }
        let error = await postgresError { _ = try await connection.execute(missing) }
        #expect(error == .decoding(column: 1, reason: "no such column"))
    }
}
