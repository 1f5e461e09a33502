import Foundation

/// Opens the files that the command line names; `-` is standard input or output.
enum AdminFiles {
    /// Reads a whole file.
    static func content(_ name: String) throws(AdminFailure) -> [UInt8] {
        if name == "-" { return Array(FileHandle.standardInput.readDataToEndOfFile()) }
        guard let data = try? FileHandle(forReadingAtPath: name)?.readToEnd() else {
            throw .file("'\(name)' cannot be read.")
        }
        return Array(data)
    }

    /// Opens a file for reading. The length is `nil` unless it is a regular file.
    static func reading(_ name: String) throws(AdminFailure) -> (handle: FileHandle, length: Int64?) {
        if name == "-" { return (.standardInput, nil) }
        guard let handle = FileHandle(forReadingAtPath: name) else { throw .file("'\(name)' cannot be read.") }
        let attributes = try? FileManager.default.attributesOfItem(atPath: name)
        guard attributes?[.type] as? FileAttributeType != .typeDirectory else {
            throw .file("'\(name)' is a directory.")
        }
        let isRegular = attributes?[.type] as? FileAttributeType == .typeRegular
        return (handle, isRegular ? (attributes?[.size] as? NSNumber)?.int64Value : nil)
    }

    /// Opens a file for writing. Its former content is lost.
    static func writing(_ name: String?) throws(AdminFailure) -> FileHandle {
        guard let name, name != "-" else { return .standardOutput }
        guard FileManager.default.createFile(atPath: name, contents: nil),
            let handle = FileHandle(forWritingAtPath: name)
        else { throw .file("'\(name)' cannot be written.") }
        return handle
    }

    /// Returns the format that a file's extension names; `nil` if it has no extension.
    ///
    /// - Parameters:
    ///   - name: The name of the file.
    ///   - option: The option that names a format where the extension does not.
    static func format(of name: String, option: String) throws(AdminFailure) -> String? {
        let file = name.split(separator: "/").last ?? ""
        guard let dot = file.lastIndex(of: "."), dot != file.startIndex else { return nil }
        switch file[dot...].lowercased() {
        case ".csv": return "csv"
        case ".ndjson", ".jsonl": return "ndjson"
        default:
            throw .usage(
                "'\(name)' ends neither with '.csv' nor with '.ndjson'. Name the format with '\(option)'.")
        }
    }
}
