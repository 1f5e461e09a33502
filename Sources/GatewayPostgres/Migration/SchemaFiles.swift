import EmbeddedFiles

/// One step of the schema, embedded in the program. Steps change tables.
struct Migration: Sendable {
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
}

/// A function of the schema with the triggers that call it, embedded in the program.
struct SchemaFunction: Sendable {
    /// The function's name, which is also the file's.
    let name: String
    /// The content of the file.
    let sql: [UInt8]

    /// All functions, by name. A new file under `sql/functions` needs its lines in
    /// `Sources/CEmbeddedFiles/functions.c`.
    static let all = EmbeddedFile.functions.map { SchemaFunction(name: String($0.name.dropLast(4)), sql: $0.bytes) }
}
