import CEmbeddedFiles

/// A file of the project that is compiled into the program.
public struct EmbeddedFile: Sendable {
    /// File name, such as `sluice.yaml`. Files of the console have their path below `console`, such as
    /// `views/grants.js`, and examples have their path in the repository; other names have no directory.
    public let name: String
    /// Content of the file.
    public let bytes: [UInt8]

    /// The API contract: OpenAPI 3.1, UTF-8.
    public static let contract = unsafe EmbeddedFile(name: "sluice.yaml", text: embedded_contract())

    /// What each kind of problem means, in Markdown.
    public static let problems = unsafe EmbeddedFile(name: "problems.md", text: embedded_problems())

    /// The script of the page that describes the API.
    public static let docsScript = unsafe EmbeddedFile(name: "docs.js", text: embedded_docs_script())

    /// The example for browsers, and the client that it uses.
    public static let examples: [EmbeddedFile] = {
        var files: [EmbeddedFile] = []
        while let name = unsafe embedded_example_name(files.count) {
            let text = unsafe embedded_example_text(files.count)
            unsafe files.append(EmbeddedFile(name: String(cString: name), text: text))
        }
        return files
    }()

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

    /// The files of the console, sorted by name.
    public static let console: [EmbeddedFile] = {
        var files: [EmbeddedFile] = []
        while let name = unsafe embedded_console_name(files.count) {
            let bytes = unsafe UnsafeBufferPointer(
                start: embedded_console_bytes(files.count), count: embedded_console_size(files.count))
            unsafe files.append(EmbeddedFile(name: String(cString: name), bytes: Array(bytes)))
        }
        return files
    }()

    private init(name: String, bytes: [UInt8]) {
        self.name = name
        self.bytes = bytes
    }

    private init(name: String, text: UnsafePointer<CChar>) {
        self.name = name
        bytes = unsafe Array(String(cString: text).utf8)
    }
}
