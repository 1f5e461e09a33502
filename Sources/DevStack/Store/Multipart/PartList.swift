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
        guard let text = String(validating: bytes, as: UTF8.self), text.contains("<CompleteMultipartUpload"),
            !text.contains("<!")
        else { throw .malformedXML }
        var entries: [Entry] = []
        for piece in pieces(of: text, "Part") {
            guard let number = content(of: piece, "PartNumber").flatMap({ Int($0) }), 1...10_000 ~= number,
                let tag = content(of: piece, "ETag")
            else { throw .malformedXML }
            let bare = tag.replacing("&quot;", with: "\"").replacing("&#34;", with: "\"").filter { $0 != "\"" }
            entries.append(Entry(number: number, tag: bare.lowercased()))
        }
        guard 1...10_000 ~= entries.count else { throw .malformedXML }
        return entries
    }

    /// The texts between each `<name>` and the next `</name>`.
    private static func pieces(of text: String, _ name: String) -> [Substring] {
        var pieces: [Substring] = []
        var rest = text[...]
        while let start = rest.firstRange(of: "<\(name)>"),
            let end = rest[start.upperBound...].firstRange(of: "</\(name)>")
        {
            pieces.append(rest[start.upperBound..<end.lowerBound])
            rest = rest[end.upperBound...]
        }
        return pieces
    }

    private static func content(of text: Substring, _ name: String) -> String? {
        guard let piece = pieces(of: String(text), name).first else { return nil }
        return String(piece.drop(while: \.isWhitespace).prefix { !$0.isWhitespace })
    }
}
