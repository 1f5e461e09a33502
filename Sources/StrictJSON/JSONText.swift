import Bytes

/// A parsed JSON text with the places of its values. A value is decoded when it is requested.
public final class JSONText: Sendable {
    /// The place of a value in the text. The places of an array's items follow its own; for an object, the places of
    /// names and values follow alternately.
    struct Place: Sendable {
        enum Kind: UInt8, Sendable {
            case null, `true`, `false`, number, array, object
            /// A string or name of unescaped ASCII characters.
            case plainString
            /// A string or name with other characters or escapes.
            case string
        }

        let kind: Kind
        /// Offset of the first byte; for a string, the byte after the opening quote.
        let start: UInt32
        /// Offset after the last byte; for an object, the number of its members.
        var end: UInt32
        /// The place after this value and everything inside it.
        var next: UInt32
    }

    private let bytes: [UInt8]
    private let places: [Place]

    /// Parses a text.
    ///
    /// - Throws: ``JSONError`` if the bytes are not exactly one JSON value, by the rules of ``JSONReader``.
    public init(reading bytes: [UInt8]) throws(JSONError) {
        self.bytes = bytes
        places = try JSONReader.places(in: bytes)
    }

    /// The whole value.
    public var root: JSONNode { .text(self, 0) }

    /// Returns the kind of the value at a place.
    func kind(at place: Int) -> Place.Kind { places[place].kind }

    /// Returns the number of members of the object at a place.
    func memberCount(at place: Int) -> Int { Int(places[place].end) }

    /// Returns the place after a value and everything inside it.
    func next(after place: Int) -> Int { Int(places[place].next) }

    /// Returns the characters of the number or string at a place.
    func text(at place: Int) -> String {
        let found = places[place]
        if found.kind == .string { return JSONReader.text(in: bytes, from: Int(found.start)) }
        // Numbers and plain strings are ASCII.
        let bytes = bytes
        return String(ascii: bytes.span.extracting(Int(found.start)..<Int(found.end)))
    }

    /// Returns whether the name at a place consists of the same bytes as `name`.
    @inline(__always)
    func isName(_ name: String, at place: Int) -> Bool {
        let found = places[place]
        guard found.kind == .plainString else { return text(at: place).isSameBytes(as: name) }
        // Most names differ in length.
        guard Int(found.end - found.start) == name.utf8.count else { return false }
        let bytes = bytes
        return name.isSameBytes(as: bytes.span.extracting(Int(found.start)..<Int(found.end)))
    }

    /// Decodes the value at a place, with everything inside it.
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

    /// Returns the places of the items of the array at a place.
    func items(at place: Int) -> [Int] {
        var items: [Int] = []
        var item = place + 1
        while item < next(after: place) {
            items.append(item)
            item = next(after: item)
        }
        return items
    }

    /// Returns the places of an object's member names. The value of each member is at the next place.
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

extension JSONText {
    /// Returns the line, from 1, on which a value begins; `nil` if the text has no such value.
    ///
    /// - Parameter field: The names and indices that lead to it, such as `conditions.maxBytes` or `items[2].key`.
    public func line(of field: String) -> Int? {
        guard let place = find(Substring(field).utf8, below: 0) else { return nil }
        return 1 + bytes[..<Int(places[place].start)].count { $0 == UInt8(ascii: "\n") }
    }

    /// Returns the place of a value below that at another place. Names may contain dots and brackets themselves.
    private func find(_ path: Substring.UTF8View, below place: Int) -> Int? {
        guard let first = path.first else { return place }
        switch kind(at: place) {
        case .array:
            guard first == UInt8(ascii: "["), let end = path.firstIndex(of: UInt8(ascii: "]")),
                let index = Int(String(decoding: path[..<end].dropFirst(), as: UTF8.self))
            else { return nil }
            let found = items(at: place)
            guard found.indices.contains(index) else { return nil }
            return find(path[end...].dropFirst(), below: found[index])
        case .object:
            let names = first == UInt8(ascii: ".") ? path.dropFirst() : path
            for name in memberNames(at: place) {
                let known = text(at: name).utf8
                guard names.starts(with: known) else { continue }
                let rest = names.dropFirst(known.count)
                guard [nil, UInt8(ascii: "."), UInt8(ascii: "[")].contains(rest.first) else { continue }
                if let found = find(rest, below: name + 1) { return found }
            }
            return nil
        default: return nil
        }
    }
}
