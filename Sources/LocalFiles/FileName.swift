import Glibc

/// Names of files, as the operating system reads them: `link/..` is the directory above the one that the link leads to,
/// and `~` is a name like any other. URLs read both otherwise.
public enum FileName {
    /// The absolute name of a file, which need not exist. Its directory is named without symbolic links, so that two
    /// such names are those of two files, or of two links.
    public static func located(_ name: String) -> String {
        let directory = directory(name)
        guard let place = resolved(directory.isEmpty ? "." : directory) else {
            return name.utf8.first == slash ? name : (resolved(".") ?? ".") + "/" + name
        }
        return (place == "/" ? "" : place) + "/" + String(Substring(name.utf8.dropFirst(directory.utf8.count)))
    }

    /// The name of the file, which need not exist, that a symbolic link leads to. Any other name stays as it is: also
    /// where the working directory cannot be reached from above, a relative name leads to a file in it.
    public static func followed(_ name: String) -> String {
        var name = name
        // As many as the system follows.
        for _ in 0..<40 {
            guard let target = linkTarget(name) else { break }
            name = target.utf8.first == slash ? target : directory(name) + target
        }
        return name
    }

    /// The part of a name that names the directory, with the slash at its end; empty if there is none.
    public static func directory(_ name: String) -> String {
        guard let last = name.utf8.lastIndex(of: slash) else { return "" }
        return String(Substring(name.utf8[...last]))
    }

    /// The last part of a name; empty if there is none.
    public static func last(_ name: String) -> String {
        name.utf8.split(separator: slash).last.map { String(Substring($0)) } ?? ""
    }

    /// The lower-case letters behind the last dot of a name; `nil` if there is no dot, or only one at the start.
    public static func fileExtension(_ name: String) -> String? {
        let last = Self.last(name)
        guard let dot = last.lastIndex(of: "."), dot != last.startIndex else { return nil }
        return last[last.index(after: dot)...].lowercased()
    }

    private static let slash = UInt8(ascii: "/")

    private static func linkTarget(_ name: String) -> String? {
        var bytes = [CChar](repeating: 0, count: Int(PATH_MAX))
        let count = unsafe readlink(name, &bytes, bytes.count)
        guard count > 0 else { return nil }
        return unsafe bytes.withUnsafeBytes { unsafe String(decoding: $0.prefix(count), as: UTF8.self) }
    }

    private static func resolved(_ name: String) -> String? {
        guard let found = unsafe realpath(name, nil) else { return nil }
        defer { unsafe free(found) }
        return unsafe String(cString: found)
    }
}
