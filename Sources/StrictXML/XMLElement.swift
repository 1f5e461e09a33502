import Bytes

/// An element of an XML answer: its local name, its text and its children.
///
/// The reader supports only what stores send, and refuses the rest: document types (and thus all entities but the five
/// predefined ones), processing instructions, comments, CDATA, and more than ``maxDepth`` levels. The document must be
/// well-formed.
public struct XMLElement: Equatable, Sendable {
    /// Maximum number of nested elements.
    public static let maxDepth = 8

    /// The name without the prefix of its namespace.
    public let name: String
    /// The text of the element itself, with references resolved and without white space between children.
    public fileprivate(set) var text = ""
    /// The child elements, in order.
    public fileprivate(set) var children: [XMLElement] = []

    fileprivate init(name: String) { self.name = name }

    /// Reads a document; `nil` if it is not of the supported form.
    public static func read(_ bytes: [UInt8]) -> XMLElement? {
        guard String(validating: bytes, as: UTF8.self) != nil else { return nil }
        var reader = XMLReader(bytes)
        return reader.document()
    }

    /// The text of the only child with a name; `nil` if there is none or several.
    public func text(_ name: String) -> String? {
        let matches = children.filter { $0.name == name }
        return matches.count == 1 ? matches.first?.text : nil
    }
}

/// Reads an XML document from front to back.
private struct XMLReader {
    private let bytes: [UInt8]
    private var place = 0

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }

    mutating func document() -> XMLElement? {
        _ = skip([0xef, 0xbb, 0xbf])
        skipSpace()
        if skip("<?xml ") {
            guard let end = bytes[place...].firstIndex(of: UInt8(ascii: ">")), bytes[end - 1] == UInt8(ascii: "?")
            else { return nil }
            place = end + 1
        }
        skipSpace()
        guard skip("<"), let root = element(depth: 1) else { return nil }
        skipSpace()
        return place == bytes.count ? root : nil
    }

    /// Reads an element after its `<`.
    private mutating func element(depth: Int) -> XMLElement? {
        guard depth <= XMLElement.maxDepth, let tag = name(), skipAttributes() else { return nil }
        var element = XMLElement(name: Self.localName(tag))
        if skip("/>") { return element }
        guard skip(">") else { return nil }
        var text: [UInt8] = []
        while place < bytes.count {
            let run = bytes[place...].prefix { $0 != UInt8(ascii: "<") && $0 != UInt8(ascii: "&") }
            text += run
            place += run.count
            if skip("</") {
                guard name() == tag else { return nil }
                skipSpace()
                let ownText = element.children.isEmpty ? text : text.filter { !Self.isSpace($0) }
                element.text = String(decoding: ownText, as: UTF8.self)
                return skip(">") ? element : nil
            }
            if skip("<") {
                guard let child = self.element(depth: depth + 1) else { return nil }
                element.children.append(child)
            } else if skip("&") {
                guard let resolved = reference() else { return nil }
                text += resolved
            }
        }
        return nil
    }

    private mutating func skipAttributes() -> Bool {
        while true {
            let before = place
            skipSpace()
            guard let next = peek, next != UInt8(ascii: ">"), next != UInt8(ascii: "/") else { return true }
            guard place > before, name() != nil else { return false }
            skipSpace()
            guard skip("=") else { return false }
            skipSpace()
            guard let quote = peek, quote == UInt8(ascii: "\"") || quote == UInt8(ascii: "'"),
                let end = bytes[(place + 1)...].firstIndex(of: quote),
                !bytes[place..<end].contains(UInt8(ascii: "<"))
            else { return false }
            place = end + 1
        }
    }

    /// Reads a reference after its `&`.
    private mutating func reference() -> [UInt8]? {
        guard let end = bytes[place...].prefix(10).firstIndex(of: UInt8(ascii: ";")) else { return nil }
        let name = bytes[place..<end]
        place = end + 1
        if name.first == UInt8(ascii: "#") {
            let isHex = name.dropFirst().first == UInt8(ascii: "x")
            let digits = String(decoding: name.dropFirst(isHex ? 2 : 1), as: UTF8.self)
            guard digits.utf8.allSatisfy(ByteSet.alphanumeric.contains),
                let code = UInt32(digits, radix: isHex ? 16 : 10),
                let scalar = Unicode.Scalar(code), code >= 0x20 || [0x09, 0x0a, 0x0d].contains(code)
            else { return nil }
            return Array(String(Character(scalar)).utf8)
        }
        return Self.entities.first { name.elementsEqual($0.name.utf8) }.map { Array($0.text.utf8) }
    }

    private static let entities: [(name: String, text: String)] = [
        ("amp", "&"), ("lt", "<"), ("gt", ">"), ("quot", "\""), ("apos", "'"),
    ]

    private mutating func name() -> [UInt8]? {
        let start = place
        while let byte = peek, Self.nameBytes.contains(byte) { place += 1 }
        guard let first = bytes[start..<place].first, first != UInt8(ascii: "-"), first != UInt8(ascii: "."),
            !ByteSet.digits.contains(first)
        else { return nil }
        return Array(bytes[start..<place])
    }

    private static let nameBytes = ByteSet.alphanumeric.union("_:-.")

    private static func localName(_ name: [UInt8]) -> String {
        String(decoding: name.split(separator: UInt8(ascii: ":")).last ?? [], as: UTF8.self)
    }

    private var peek: UInt8? { place < bytes.count ? bytes[place] : nil }

    private mutating func skip(_ text: StaticString) -> Bool {
        skip(Array("\(text)".utf8))
    }

    private mutating func skip(_ expected: [UInt8]) -> Bool {
        guard bytes[place...].starts(with: expected) else { return false }
        place += expected.count
        return true
    }

    private mutating func skipSpace() {
        while let byte = peek, Self.isSpace(byte) { place += 1 }
    }

    private static func isSpace(_ byte: UInt8) -> Bool {
        byte == 0x20 || byte == 0x09 || byte == 0x0a || byte == 0x0d
    }
}
