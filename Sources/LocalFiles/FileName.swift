import Glibc

/// Names of files, as the operating system reads them: `link/..` is the directory above the one that the link leads to,
/// and `~` is a name like any other. URLs read both otherwise.
public enum FileName {
    /// The absolute name of a file, which need not exist. Its directory is named without symbolic links, so that two
    /// such names are those of two files, or of two links.
    public static func located(_ name: String) -> String {
        let end = name.utf8.lastIndex(of: slash).map { name.utf8.index(after: $0) } ?? name.utf8.startIndex
        let directory = String(Substring(name.utf8[..<end]))
        guard let place = resolved(directory.isEmpty ? "." : directory) else {
            return name.utf8.first == slash ? name : (resolved(".") ?? ".") + "/" + name
        }
        return (place == "/" ? "" : place) + "/" + String(Substring(name.utf8[end...]))
    }

    /// Like ``located(_:)``, but a symbolic link stands for the file that it leads to.
    public static func followed(_ name: String) -> String { resolved(name) ?? located(name) }

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

    private static func resolved(_ name: String) -> String? {
        guard let found = unsafe realpath(name, nil) else { return nil }
        defer { unsafe free(found) }
        return unsafe String(cString: found)
    }
}
