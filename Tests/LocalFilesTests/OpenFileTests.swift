import Foundation
@testable import LocalFiles
import Testing

@Suite final class OpenFileTests {
    private let folder = FileManager.default.temporaryDirectory.appending(path: "files-\(UUID().uuidString)").path

    init() throws { try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true) }
    deinit { try? FileManager.default.removeItem(atPath: folder) }

    @Test func `A file is read in pieces, from a place, and to its end`() throws {
        let path = folder + "/bytes"
        let bytes = (0..<200_000).map { UInt8(truncatingIfNeeded: $0 &* 7) }
        try OpenFile(path, for: .creating).write(bytes)
        let file = try OpenFile(path, for: .reading)
        #expect(try file.read(atMost: 3) == Array(bytes[..<3]))
        #expect(try file.readToEnd() == Array(bytes[3...]))
        #expect(try file.read(atMost: 3) == [])
        try file.seek(to: 199_998)
        #expect(try file.read(atMost: 3) == Array(bytes[199_998...]))
        #expect(throws: FileError(number: EINVAL)) { try file.seek(to: -1) }
    }

    @Test func `Each use treats a file that exists as it says`() throws {
        let path = folder + "/uses"
        #expect(throws: FileError(number: ENOENT)) { try OpenFile(path, for: .reading) }
        #expect(throws: FileError(number: ENOENT)) { try OpenFile(path, for: .appending) }
        try OpenFile(path, for: .updating).write("first".utf8)
        #expect(throws: FileError(number: EEXIST)) { try OpenFile(path, for: .creating) }
        let more = try OpenFile(path, for: .appending)
        try more.write(" more".utf8)
        #expect(throws: FileError(number: EBADF)) { try more.read(atMost: 1) }
        let file = try OpenFile(path, for: .updating)
        #expect(try file.readToEnd() == Array("first more".utf8))
        try file.empty()
        try file.write("2".utf8)
        try file.synchronize()
        #expect(try OpenFile(path, for: .reading).readToEnd() == Array("2".utf8))
        #expect(FileError(number: ENOENT).description == "No such file or directory")
    }

    @Test func `Only the owner can read a file that is created`() throws {
        for (name, use) in [("new", OpenFile.Use.creating), ("kept", .updating)] {
            _ = try OpenFile("\(folder)/\(name)", for: use)
            #expect(try FileStatus("\(folder)/\(name)").permissions == 0o600)
        }
    }

    @Test func `Permissions are set, and those of a new file are what the umask leaves`() throws {
        let file = try OpenFile(folder + "/permitted", for: .updating)
        try file.permit(0o100_751)
        #expect(try file.status.permissions == 0o751)
        let new = try OpenFile(folder + "/for-all", for: .creatingForAll)
        #expect(try new.status.permissions == OpenFile.permissionsOfNewFiles)
    }

    @Test func `A name is read as the system reads it`() throws {
        let files = FileManager.default
        try files.createDirectory(atPath: folder + "/real/sub", withIntermediateDirectories: true)
        try files.createSymbolicLink(atPath: folder + "/link", withDestinationPath: "real/sub")
        let place = FileName.located(folder)
        #expect(FileName.located(folder + "/link/../new") == place + "/real/new")
        #expect(FileName.located(folder + "/link/new") == place + "/real/sub/new")
        #expect(FileName.located(folder + "/link") == place + "/link")
        for (name, target) in [("chain", "./link"), ("far", folder + "/chain"), ("hanging", "real/none")] {
            try files.createSymbolicLink(atPath: "\(folder)/\(name)", withDestinationPath: target)
        }
        #expect(FileName.followed(folder + "/link") == folder + "/real/sub")
        #expect(FileName.followed(folder + "/far") == folder + "/./real/sub")
        #expect(FileName.followed(folder + "/hanging") == folder + "/real/none")
        for name in ["new", "a/new", folder + "/link/../new", "/new", ""] { #expect(FileName.followed(name) == name) }
        for name in ["~", "~root", "a b", "\u{301}x"] {
            #expect(FileName.located(name) == files.currentDirectoryPath + "/" + name)
        }
        #expect(FileName.directory("a/b/c") == "a/b/" && FileName.directory("/a") == "/")
        #expect(FileName.directory("a") == "")
        #expect(FileName.located("/new") == "/new" && FileName.located("/nowhere/../new") == "/nowhere/../new")
        #expect(FileName.last("a/b.txt/") == "b.txt" && FileName.last("~") == "~" && FileName.last("/") == "")
        #expect(FileName.last("a/\u{301}x") == "\u{301}x")
        #expect(FileName.fileExtension("a.b/C.TAR.GZ") == "gz" && FileName.fileExtension("a.b/.profile") == nil)
        #expect(FileStatus.isDirectory(folder + "/link") && !FileStatus.isDirectory(folder + "/real/new"))
    }

    @Test func `A replacement takes the name when it is complete, and is removed otherwise`() throws {
        let path = folder + "/replaced"
        func content() throws -> String {
            String(decoding: try OpenFile(path, for: .reading).readToEnd(), as: UTF8.self)
        }
        func names() throws -> Set<String> { Set(try FileManager.default.contentsOfDirectory(atPath: folder)) }
        try OpenFile(path, for: .creating).write("old".utf8)
        try FileManager.default.setAttributes([.posixPermissions: 0o640], ofItemAtPath: path)
        do {
            let given = try FileReplacement(of: path, isPrivate: false)
            try given.file.write("half".utf8)
            #expect(try names().count == 2)
        }
        #expect(try content() == "old" && names() == ["replaced"])
        let discarded = try FileReplacement(of: path, isPrivate: false)
        discarded.discard()
        #expect(try content() == "old" && names() == ["replaced"])
        let new = try FileReplacement(of: path, isPrivate: false)
        try new.file.write("new".utf8)
        #expect(try content() == "old")
        try new.complete()
        #expect(try content() == "new" && FileStatus(path).permissions == 0o640)
        try FileManager.default.createSymbolicLink(atPath: path + ".link", withDestinationPath: path)
        let secret = try FileReplacement(of: path + ".link", isPrivate: true)
        try secret.file.write("secret".utf8)
        try secret.complete()
        #expect(try content() == "secret" && FileStatus(path).permissions == 0o600)
        #expect(try names() == ["replaced", "replaced.link"])
        let device = try FileReplacement(of: "/dev/null", isPrivate: true)
        try device.file.write("gone".utf8)
        try device.complete()
        #expect(try FileStatus("/dev/null").kind == .other)
        #expect(throws: FileError(number: ENOENT)) { try FileReplacement(of: "/nowhere/file", isPrivate: false) }
        #expect(throws: FileError(number: EISDIR)) { try FileReplacement(of: folder, isPrivate: false) }
        let longest = "\(folder)/" + String(repeating: "x", count: 255)
        let long = try FileReplacement(of: longest, isPrivate: false)
        try long.complete()
        #expect(try FileStatus(longest).permissions == OpenFile.permissionsOfNewFiles)
    }

    @Test func `A replacement that cannot take the name is kept on demand`() throws {
        let path = folder + "/taken"
        let new = try FileReplacement(of: path, isPrivate: true)
        try new.file.write("secret".utf8)
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        #expect(throws: FileError(number: EISDIR)) { try new.complete() }
        let kept = try #require(new.keep())
        new.discard()
        #expect(try OpenFile(kept, for: .reading).readToEnd() == Array("secret".utf8))
        #expect(try FileStatus(kept).permissions == 0o600)
    }

    @Test func `A stream that is open is not emptied, and files in memory are replaced like others`() throws {
        let path = folder + "/log"
        let log = try OpenFile(path, for: .creating)
        try log.write("old, ".utf8)
        for name in ["/dev/fd/\(log.descriptor)", "/proc/self/fd/\(log.descriptor)"] {
            let stream = try FileReplacement(of: name, isPrivate: true)
            stream.discard()
            try stream.file.write("new, ".utf8)
            try stream.complete()
        }
        #expect(try OpenFile(path, for: .reading).readToEnd() == Array("old, new, new, ".utf8))
        // The shell may have moved them to another place of a file.
        for (name, file) in [("/dev/stdout", OpenFile.standardOutput), ("/dev/fd/2", OpenFile.standardError)] {
            #expect(try FileReplacement(of: name, isPrivate: false).file === file)
        }
        let memory = "/dev/shm/files-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: memory) }
        try Data("old".utf8).write(to: URL(filePath: memory))
        let secret = try FileReplacement(of: memory, isPrivate: true)
        #expect(try OpenFile(memory, for: .reading).readToEnd() == Array("old".utf8))
        try secret.complete()
        #expect(try FileStatus(memory).permissions == 0o600)
    }

    @Test func `The status tells kind, size, permissions and time`() throws {
        let path = folder + "/status"
        try OpenFile(path, for: .creating).write("12345".utf8)
        try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: path)
        try FileManager.default.createSymbolicLink(atPath: path + ".link", withDestinationPath: path)
        let status = try FileStatus(path + ".link")
        #expect(status.kind == .regular && status.size == 5 && status.permissions == 0o644)
        #expect(abs(Double(status.modifiedAt) / 1_000_000 - Date.now.timeIntervalSince1970) < 60)
        #expect(try FileStatus(folder).kind == .directory && FileStatus("/dev/null").kind == .other)
        #expect(throws: FileError(number: ENOENT)) { try FileStatus(path + ".none") }
    }

    @Test func `Only one open file at a time reserves a file`() throws {
        let path = folder + "/reserved"
        let (first, second) = (try OpenFile(path, for: .updating), try OpenFile(path, for: .updating))
        #expect(try first.lock())
        #expect(try !second.lock())
        #expect(try first.lock(), "who has reserved it may ask again")
        #expect(try OpenFile(folder + "/other", for: .updating).lock())
    }

    @Test func `A file knows its own names`() throws {
        let (path, other) = (folder + "/name", folder + "/other-name")
        let file = try OpenFile(path, for: .updating)
        try file.write("new".utf8)
        try OpenFile(other, for: .creating).write("old".utf8)
        try FileManager.default.createSymbolicLink(atPath: path + ".link", withDestinationPath: path)
        #expect(file.hasName(path) && !file.hasName(other) && !file.hasName(path + ".link"))
        #expect(!file.hasName(path + ".none"))
        // The name of another file is neither moved nor removed.
        #expect(throws: FileError(number: ESTALE)) { try file.move(from: other, to: path, replaces: true) }
        file.removeName(other)
        #expect(try OpenFile(other, for: .reading).readToEnd() == Array("old".utf8))
        #expect(throws: FileError(number: EEXIST)) { try file.move(from: path, to: other, replaces: false) }
        #expect(try file.hasName(path) && FileStatus(other).inode != file.status.inode)
        try file.move(from: path, to: other, replaces: true)
        #expect(file.hasName(other) && !file.hasName(path))
        #expect(try OpenFile(other, for: .reading).readToEnd() == Array("new".utf8))
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        #expect(throws: FileError(number: EISDIR)) { try file.move(from: other, to: path, replaces: true) }
        try file.move(from: other, to: path + ".free", replaces: false)
        #expect(try file.hasName(path + ".free") && file.status.names == 1)
        file.removeName(path + ".free")
        #expect(try file.status.names == 0)
    }

    @Test func `A file is closed when nothing uses it any more`() throws {
        var file: OpenFile? = try OpenFile("/dev/null", for: .reading)
        let number = try #require(file?.descriptor)
        #expect(fcntl(number, F_GETFD) == FD_CLOEXEC)
        let before = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(number)")
        #expect(before == "/dev/null")
        file = nil
        // Another test may have opened another file by the same number.
        #expect((try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(number)")) != before)
    }

    @Test(arguments: [
        ("", ""), ("  ", ""), ("a", "a"), (" \t a b\r\n", "a b"), ("\r\n\r\na", "a"), ("a\u{2003}", "a"),
    ])
    func `White space goes from both ends`(text: String, trimmed: String) {
        #expect(text.trimmed() == trimmed && text[...].trimmed() == trimmed)
        #expect(" a\n".trimmed(\.isNewline) == " a")
    }
}
