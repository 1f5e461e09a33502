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
}
