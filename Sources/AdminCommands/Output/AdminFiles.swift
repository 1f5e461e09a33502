import Bytes
import ContractModel
import LocalFiles
import StrictJSON

/// Opens the files that the command line names; `-` is standard input or output.
enum AdminFiles {
    /// Reads a whole file.
    static func content(_ name: String) throws(AdminFailure) -> [UInt8] {
        do throws(FileError) {
            return try (name == "-" ? .standardInput : OpenFile(name, for: .reading)).readToEnd()
        } catch {
            throw unreadable(name, error)
        }
    }

    private static func unreadable(_ name: String, _ error: FileError) -> AdminFailure {
        if name == "-" { return .file("Standard input cannot be read: \(error).") }
        return .file("'\(name)' \(FileStatus.readingFlaw(of: name) ?? "cannot be read: \(error)").")
    }

    /// Reads a whole file of text.
    static func text(_ name: String) throws(AdminFailure) -> String {
        guard let text = String(validating: try content(name), as: UTF8.self) else {
            throw .file("'\(name)' is not UTF-8.")
        }
        return text
    }

    /// Reads a file that is one JSON value, perhaps with the byte order mark that some editors write.
    static func json(_ name: String) throws(AdminFailure) -> AdminJSONFile {
        var content = try content(name)
        if content.starts(with: byteOrderMark) { content.removeFirst(byteOrderMark.count) }
        do throws(JSONError) {
            return AdminJSONFile(name: name, text: try JSONText(reading: content))
        } catch {
            throw .file("'\(name)' is not valid JSON. \(error).")
        }
    }

    /// Opens a file for reading. The length is `nil` unless it is a regular file.
    static func reading(_ name: String) throws(AdminFailure) -> (file: OpenFile, length: Int64?) {
        if name == "-" { return (.standardInput, nil) }
        let file: OpenFile
        let status: FileStatus
        do throws(FileError) {
            file = try OpenFile(name, for: .reading)
            status = try file.status
        } catch {
            throw unreadable(name, error)
        }
        guard status.kind != .directory else { throw .file("'\(name)' is a directory.") }
        return (file, status.kind == .regular ? status.size : nil)
    }

    /// Returns the format that a file's extension names; `nil` if it has no extension.
    ///
    /// - Parameters:
    ///   - name: The name of the file.
    ///   - option: The option that names a format where the extension does not; `nil` if the command knows only NDJSON.
    static func format(of name: String, option: String?) throws(AdminFailure) -> String? {
        guard let form = FileName.fileExtension(name) else { return nil }
        switch form {
        case "ndjson", "jsonl": return "ndjson"
        case "csv" where option != nil: return "csv"
        default:
            guard let option else {
                throw .usage("'\(name)' does not end with '.ndjson', and this command writes NDJSON only.")
            }
            throw .usage(
                "'\(name)' ends neither with '.csv' nor with '.ndjson'. Name the format with '\(option)'.")
        }
    }
}

/// A file that is one JSON value.
struct AdminJSONFile {
    let name: String
    let text: JSONText

    var value: ContractValue { ContractValue(text) }

    /// Where in the file the value of a member is; `nil` if the file does not have that member.
    ///
    /// - Parameter field: The member as the gateway names it, such as `conditions.maxBytes`.
    func place(of field: String) -> String? {
        text.line(of: field).map { "\(name == "-" ? "standard input" : name), line \($0)" }
    }
}
