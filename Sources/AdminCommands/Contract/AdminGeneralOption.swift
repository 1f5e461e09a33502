import ContractModel

/// An option that belongs to `sluice admin`, and not to an operation of the contract.
enum AdminGeneralOption: String, CaseIterable, Sendable {
    case ifMatch = "if-match"
    case unset
    case file
    case fileType = "file-type"
    case yes
    case limit
    case all
    case columns
    case print
    case json
    case output
    case url
    case timeout
    case help

    /// Whether the option is among those that nearly every command has.
    var isShared: Bool {
        switch self {
        case .ifMatch, .unset, .file, .fileType: false
        default: true
        }
    }

    /// The value's placeholder; empty if the option needs no value.
    var hint: String {
        switch self {
        case .yes, .all, .json, .help: ""
        case .ifMatch: "<tag>"
        case .unset, .columns, .print: "<a,b,…>"
        case .file, .output: "<file>"
        case .fileType: "ndjson|csv"
        case .limit: "<number>"
        case .url: "<url>"
        case .timeout: "<seconds>"
        }
    }

    /// What it does.
    var text: String {
        switch self {
        case .ifMatch: "The version that the row must have, as in `ETag`. `*` is any version."
        case .unset: "Members to remove, such as `note` or `conditions.max-bytes`."
        case .file: "The file with the body. `-` is standard input."
        case .fileType: "The format of the file. Default: by its name, else `ndjson`."
        case .yes: "Do not ask for confirmation. Without a terminal, nothing is asked anyway."
        case .limit: "Print at most this many rows. Default: 100."
        case .all: "Print every row."
        case .columns: "The columns of the table."
        case .print: "Print only these members, for scripts: a line for each row, with tabs between members."
        case .json: "Print JSON, also for errors."
        case .output: "Write the answer to this file. Its extension chooses the format."
        case .url: "The URL of the gateway. Default: SLUICE_ADMIN_URL."
        case .timeout: "Give up after this long without any data. Default: 60, for exports 150, for imports 1900."
        case .help: "Show help. Also `-h`."
        }
    }

    /// Tests whether a command has the option.
    func applies(to command: AdminOperation) -> Bool {
        switch self {
        case .ifMatch: command.takesState
        case .unset: command.operation.method == "PATCH"
        case .file: command.json != nil || !command.fileTypes.isEmpty
        case .fileType: !command.fileTypes.isEmpty
        case .yes: command.isDestructive
        case .limit, .all, .columns: command.isPaged
        case .print: !command.answersFile && command.answersRow
        default: true
        }
    }
}
