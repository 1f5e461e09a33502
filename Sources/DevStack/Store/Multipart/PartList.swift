/// Reads the body that completes an upload in parts.
enum PartList {
    /// A part that the client names.
    struct Entry: Sendable, Equatable {
        let number: Int
        /// The entity tag, without quotes, in lower case.
        let tag: String
    }

    /// Reads the list. Elements other than the number and the tag of a part are ignored.
    ///
    /// - Throws: ``StoreError/malformedXML``.
    static func read(_ bytes: [UInt8]) throws(StoreError) -> [Entry] {
        let text = try XMLText.document(bytes, root: "CompleteMultipartUpload")
        var entries: [Entry] = []
        for piece in XMLText.pieces(of: text, "Part") {
            guard let number = content(of: piece, "PartNumber").flatMap({ Int($0) }), 1...10_000 ~= number,
                let tag = content(of: piece, "ETag")
            else { throw .malformedXML }
            let bare = tag.replacing("&quot;", with: "\"").replacing("&#34;", with: "\"").filter { $0 != "\"" }
            entries.append(Entry(number: number, tag: bare.lowercased()))
        }
        guard 1...10_000 ~= entries.count else { throw .malformedXML }
        return entries
    }

    private static func content(of text: String, _ name: String) -> String? {
        guard let piece = XMLText.pieces(of: text, name).first else { return nil }
        return String(piece.drop(while: \.isWhitespace).prefix { !$0.isWhitespace })
    }
}
