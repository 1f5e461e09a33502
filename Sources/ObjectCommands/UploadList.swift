import FoundationEssentials
import LocalFiles
import ObjectClient

/// The files of a command, and the object that each becomes.
enum UploadList {
    /// One file.
    struct Item: Sendable {
        var path: String
        var address: ObjectAddress
        /// Whether standard input is meant, and not a file.
        var isInput = false
        /// The directory in which it was found, if a directory was named. Another one may have its name by now.
        var directory: (path: String, identity: FileIdentity)?

        /// Looks at the file. One that was found in a directory is still in that directory, and is no symbolic link.
        func look() throws(ClientFailure) -> LocalFile {
            let file = try LocalFile(path)
            guard let directory else { return file }
            let found = try? FileStatus(withoutFollowing: path)
            let place = try? FileStatus(directory.path)
            guard found.map(FileIdentity.init) == file.identity, place.map(FileIdentity.init) == directory.identity
            else {
                throw .file("'\(path)' is a symbolic link now, or in another directory than when it was found.")
            }
            return file
        }
    }

    /// Pairs files with addresses.
    ///
    /// - Parameters:
    ///   - names: Names of files and directories; `-` for standard input.
    ///   - target: An object, or a place for several.
    ///   - recursive: Whether directories stand for all that is in them.
    static func items(
        _ names: [String], at target: ObjectAddress, recursive: Bool
    ) throws(ClientFailure) -> [Item] {
        guard names.count == 1 || target.isPlace else {
            throw .usage("Several files need an address that ends with '/', such as \(target)/.")
        }
        guard !names.contains("") else { throw .usage("The name of a file is empty.") }
        var items: [Item] = []
        for name in names {
            if name == "-" {
                guard !target.isPlace, names.count == 1 else {
                    throw .usage("Standard input has no name: give the address of one object.")
                }
                items.append(Item(path: name, address: target, isInput: true))
            } else if recursive, FileStatus.isDirectory(name) {
                guard target.isPlace else {
                    throw .usage("A directory needs an address that ends with '/', such as \(target)/.")
                }
                let files = try content(of: name, below: "").sorted { $0.path < $1.path }
                guard !files.isEmpty else { throw .file("There is no file in '\(name)'.") }
                items += files.map { file in
                    Item(path: "\(name)/\(file.path)", address: target.appending(file.path), directory: file.directory)
                }
            } else {
                let file = FileName.last(name)
                items.append(Item(path: name, address: target.isPlace ? target.appending(file) : target))
            }
        }
        // Keys are compared by their bytes: stores tell texts apart that Swift takes for equal.
        var paths: [[UInt8]: String] = [:]
        for item in items {
            if let other = paths.updateValue(item.path, forKey: Array(item.address.description.utf8)) {
                throw .usage("'\(other)' and '\(item.path)' would both become \(item.address).")
            }
        }
        return items
    }

    /// The regular files below a directory, by path. Symbolic links are left out: they may lead anywhere.
    private static func content(
        of directory: String, below place: String
    ) throws(ClientFailure) -> [(path: String, directory: (path: String, identity: FileIdentity))] {
        guard let identity = (try? FileStatus(directory)).map(FileIdentity.init),
            let names = try? FileManager.default.contentsOfDirectory(atPath: directory)
        else { throw .file("'\(directory)' cannot be read.") }
        var files: [(path: String, directory: (path: String, identity: FileIdentity))] = []
        for name in names {
            let path = "\(directory)/\(name)"
            guard let status = try? FileStatus(withoutFollowing: path) else {
                throw .file("'\(path)' cannot be read, or has a name that is not UTF-8.")
            }
            switch status.kind {
            case .regular: files.append((place + name, (directory, identity)))
            case .directory: files += try content(of: path, below: "\(place)\(name)/")
            case .other: continue
            }
        }
        return files
    }
}
