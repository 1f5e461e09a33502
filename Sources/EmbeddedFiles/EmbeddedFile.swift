import CEmbeddedFiles

/// A file of the project, carried inside the program.
public struct EmbeddedFile: Sendable {
    /// The file's name without its directory, for example `sluice.yaml`.
    public let name: String
    /// The file.
    public let bytes: [UInt8]

    /// The API's contract: OpenAPI 3.1, UTF-8.
    public static let contract = unsafe EmbeddedFile(name: "sluice.yaml", text: embedded_contract())

    /// The steps of the schema, in the order of their numbers.
    public static let migrations: [EmbeddedFile] = {
        var files: [EmbeddedFile] = []
        while let name = unsafe embedded_migration_name(files.count) {
            let text = unsafe embedded_migration_text(files.count)
            unsafe files.append(EmbeddedFile(name: String(cString: name), text: text))
        }
        return files
    }()

    /// The functions of the schema, in the order of their names.
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
