import Foundation

/// Files that the command line names; `-` is standard input or output.
enum AdminFiles {
    /// All of a file.
    static func content(_ name: String) throws(AdminFailure) -> [UInt8] {
        if name == "-" { return Array(FileHandle.standardInput.readDataToEndOfFile()) }
        guard let data = try? FileHandle(forReadingAtPath: name)?.readToEnd() else {
            throw .file("'\(name)' cannot be read.")
        }
        return Array(data)
    }

    /// A file to read from, and its length where it has one.
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

    /// A file to write to; what it held goes.
    static func writing(_ name: String?) throws(AdminFailure) -> FileHandle {
        guard let name, name != "-" else { return .standardOutput }
        guard FileManager.default.createFile(atPath: name, contents: nil),
            let handle = FileHandle(forWritingAtPath: name)
        else { throw .file("'\(name)' cannot be written.") }
        return handle
    }
}
