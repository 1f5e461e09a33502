import CEmbeddedFiles

/// A file of the project that is compiled into the program.
public struct EmbeddedFile: Sendable {
    /// File name without directory, such as `sluice.yaml`.
    public let name: String
    /// Content of the file.
    public let bytes: [UInt8]

    /// The API contract: OpenAPI 3.1, UTF-8.
    public static let contract = unsafe EmbeddedFile(name: "sluice.yaml", text: embedded_contract())

    /// The schema migrations, in numerical order.
    public static let migrations: [EmbeddedFile] = {
        var files: [EmbeddedFile] = []
        while let name = unsafe embedded_migration_name(files.count) {
            let text = unsafe embedded_migration_text(files.count)
            unsafe files.append(EmbeddedFile(name: String(cString: name), text: text))
        }
        return files
    }()

    /// The SQL functions of the schema, sorted by name.
    public static let functions: [EmbeddedFile] = {
        var files: [EmbeddedFile] = []
        while let name = unsafe embedded_function_name(files.count) {
            let text = unsafe embedded_function_text(files.count)
            unsafe files.append(EmbeddedFile(name: String(cString: name), text: text))
        }
        return files
    }()

    private init(name: String, text: UnsafePointer<CChar>) {
        self.name = name
        bytes = unsafe Array(String(cString: text).utf8)
    }
}
