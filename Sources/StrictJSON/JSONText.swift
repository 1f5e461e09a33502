import LibCrypto

/// A JSON text that was read, and where its values stand: each is made when it is asked for.
public final class JSONText: Sendable {
    /// Where a value stands. The values of an array follow it, of an object their names and values in turn.
    struct Place: Sendable {
        enum Kind: UInt8, Sendable {
            case null, `true`, `false`, number, array, object
            /// A string or name of ASCII characters that all stand for themselves.
            case plainString
            /// One with others, or with escapes.
            case string
        }

        let kind: Kind
        /// The first byte, of a string behind its quote.
        let start: UInt32
        /// The byte behind the last one; the number of members of an object.
        var end: UInt32
        /// The place behind everything that is within this one.
        var next: UInt32
    }

    private let bytes: [UInt8]
    private let places: [Place]

    /// Reads a text.
    ///
    /// - Parameter allowsNUL: Whether strings may hold U+0000.
    /// - Throws: ``JSONError`` where the bytes are not exactly one JSON value, as ``JSONReader`` has it.
    public init(reading bytes: [UInt8], allowsNUL: Bool = false) throws(JSONError) {
        self.bytes = bytes
        places = try JSONReader.places(in: bytes, allowsNUL: allowsNUL)
    }

    /// The whole value.
    public var root: JSONNode { .text(self, 0) }

    /// What stands at a place.
    func kind(at place: Int) -> Place.Kind { places[place].kind }

    /// Members of the object at a place.
    func memberCount(at place: Int) -> Int { Int(places[place].end) }

    /// The place behind a value and everything in it.
    func next(after place: Int) -> Int { Int(places[place].next) }

    /// The characters of the number or string at a place.
    func text(at place: Int) -> String {
        let found = places[place]
        if found.kind == .string { return JSONReader.text(in: bytes, from: Int(found.start)) }
        return String(decoding: bytes[Int(found.start)..<Int(found.end)], as: UTF8.self)
    }

    /// Whether the name at a place is a certain one.
    func isName(_ name: String, at place: Int) -> Bool {
        let found = places[place]
        guard found.kind == .plainString else { return text(at: place) == name }
        return Self.isSame(name, Int(found.start)..<Int(found.end), of: bytes)
    }

    private static func isSame(_ name: String, _ range: Range<Int>, of bytes: [UInt8]) -> Bool {
        name.isSameBytes(as: bytes.span.extracting(range))
    }

    /// The value at a place, with everything in it.
    func value(at place: Int) -> JSONValue {
        switch places[place].kind {
        case .null: return .null
        case .true: return .bool(true)
        case .false: return .bool(false)
        case .number: return .number(text(at: place))
        case .string, .plainString: return .string(text(at: place))
        case .array: return .array(items(at: place).map { value(at: $0) })
        case .object:
            var members: [JSONValue.Member] = []
            members.reserveCapacity(memberCount(at: place))
            for name in memberNames(at: place) {
                members.append(.init(name: text(at: name), value: value(at: name + 1)))
            }
            return .object(members)
        }
    }

    /// The places of the items of the array at a place.
    func items(at place: Int) -> [Int] {
        var items: [Int] = []
        var item = place + 1
        while item < next(after: place) {
            items.append(item)
            item = next(after: item)
        }
        return items
    }

    /// The places of the names of an object's members; the value of each follows it.
    private func memberNames(at place: Int) -> [Int] {
        var names: [Int] = []
        var name = place + 1
        while name < next(after: place) {
            names.append(name)
            name = next(after: name + 1)
        }
        return names
    }
}
