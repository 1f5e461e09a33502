import EmbeddedFiles
import LibCrypto

/// One step of the schema, embedded in the program. Steps change tables.
struct Migration: Sendable {
    /// Whether gateways of the version before may serve while a migration runs, and after it.
    enum Kind: Sendable, Equatable {
        /// It only adds. Gateways of the version before go on.
        case expand
        /// It removes, or demands more. Afterwards, gateways serve from this schema version on.
        case contract(servesFrom: Int32)
    }

    /// Number in the file's name. Numbers ascend.
    let version: Int32
    /// The file's name without number and extension, for example `create_schema`.
    let name: String
    /// The content of the file.
    let sql: [UInt8]

    /// All migrations, in order. A new file under `sql/migrations` needs its lines in
    /// `Sources/CEmbeddedFiles/migrations.c`.
    static let all = EmbeddedFile.migrations.map { file in
        Migration(
            version: Int32(file.name.prefix(4)) ?? 0, name: String(file.name.dropFirst(5).dropLast(4)), sql: file.bytes)
    }

    /// The kind that the first line declares; `nil` if it declares none.
    var declaredKind: Kind? {
        let head = sql.prefix { $0 != UInt8(ascii: "\n") }
        if head.elementsEqual("-- Kind: expand".utf8) { return .expand }
        let contract = "-- Kind: contract, serves from ".utf8
        guard head.starts(with: contract) else { return nil }
        return Int32(String(decoding: head.dropFirst(contract.count), as: UTF8.self)).map { .contract(servesFrom: $0) }
    }

    /// The declared kind. A migration that declares none counts as the kind that does more harm.
    var kind: Kind { declaredKind ?? .contract(servesFrom: version) }
}

/// A function of the schema with the triggers that call it, embedded in the program.
struct SchemaFunction: Sendable {
    /// The function's name, which is also the file's.
    let name: String
    /// The content of the file.
    let sql: [UInt8]
    /// The declaration before the word `LANGUAGE`: name, arguments with their names and defaults, and result. Words
    /// have one space between them. Empty if the file has no such declaration.
    let declaration: String

    /// All functions, by name. A new file under `sql/functions` needs its lines in
    /// `Sources/CEmbeddedFiles/functions.c`.
    static let all = EmbeddedFile.functions.map { SchemaFunction(name: String($0.name.dropLast(4)), sql: $0.bytes) }

    /// Makes a function from its file.
    init(name: String, sql: [UInt8]) {
        self.name = name
        self.sql = sql
        declaration = Self.declaration(in: sql)
    }

    /// SHA-256 of ``declaration``, by which programs and databases compare what callers rely on.
    var contract: [UInt8] { DigestAlgorithm.sha256.digest(of: declaration).bytes }

    private static func declaration(in sql: [UInt8]) -> String {
        let words = sql.split { [UInt8(ascii: " "), UInt8(ascii: "\n")].contains($0) }
        let beginning = ["CREATE", "OR", "REPLACE", "FUNCTION"]
        let start = words.indices.first { index in
            words[index...].starts(with: beginning) { $0.elementsEqual($1.utf8) }
        }
        let end = words.firstIndex { $0.elementsEqual("LANGUAGE".utf8) }
        guard let start, let end, start + beginning.count < end else { return "" }
        return String(decoding: Array(words[(start + beginning.count)..<end].joined(separator: [0x20])), as: UTF8.self)
    }
}
