package import Signing

/// Headers of single stores that a trial sends with the link of an upload, which does not bind them.
///
/// A store that obeys one lets the holder of a link do more than the link says. Others ignore them.
package enum UnsignedHeader {
    /// The time of the object's removal, of OpenStack Swift: one that is over. Swift answers it with 400, and refuses
    /// nothing else.
    package static let removalTime = NamedValue("x-delete-at", "1")
    /// The time of the object's writing, of MinIO.
    package static let writeTime = NamedValue("x-minio-source-mtime", "2001-01-01T00:00:00Z")
    /// The demand to guess a type from how the key ends, of OpenStack Swift.
    package static let typeGuess = NamedValue("x-detect-content-type", "true")

    /// The two times.
    package static let times = [removalTime, writeTime]

    /// Whether an object has the time of ``writeTime``.
    ///
    /// - Parameter lastModified: The field of that name in an answer about the object.
    package static func isWriteTime(_ lastModified: String?) -> Bool { lastModified?.contains(" 2001 ") ?? false }

    /// Whether the type of an object was guessed, whose key ends with `.html` and which was uploaded as something else.
    ///
    /// - Parameter contentType: The field of that name in an answer about the object.
    package static func isGuessedType(_ contentType: String?) -> Bool {
        contentType?.utf8.starts(with: "text/html".utf8) ?? false
    }
}
