import Signing

extension Bucket {
    /// The names of the headers that a page sends when it uploads by a link, in lower case: those that every such link
    /// binds, and those that only some bind. The browser itself sets `content-length`; metadata may have any name.
    public var pageHeaders: (always: [String], sometimes: [String]) {
        let bound = (uploadHeaders(length: 1, sha256: "") + encryptionHeaders).map(\.name)
            .filter { $0 != "content-length" }
        return (["content-type"] + bound, ["content-md5"] + [binding.lengthRangeHeader].compactMap(\.self))
    }
}
