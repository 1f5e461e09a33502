extension YAMLValue {
    /// The deepest nesting of values.
    private static let maxDepth = 64

    /// Reads a text with one document. Anchors, aliases and tags are refused, and names that occur twice.
    ///
    /// - Throws: ``YAMLFlaw`` with the line of the first flaw.
    public init(yaml text: String) throws(YAMLFlaw) {
        var events = try YAMLEvents(text)
        guard case .begin = try events.next(), case .begin = try events.next() else {
            throw events.flaw("The text has no document")
        }
        self = try Self.value(try events.next(), &events, depth: 0)
        guard case .end = try events.next(), case .end = try events.next() else {
            throw events.flaw("The text has more than one document")
        }
    }

    private static func value(
        _ first: YAMLEvents.Event, _ events: inout YAMLEvents, depth: Int
    ) throws(YAMLFlaw) -> YAMLValue {
        guard depth < maxDepth else { throw events.flaw("The values are nested too deeply") }
        switch first {
        case .scalar(let text, let isPlain): return isPlain ? YAMLValue(plain: text) : .string(text)
        case .beginSequence:
            var items: [YAMLValue] = []
            while case let event = try events.next(), event != .end {
                items.append(try value(event, &events, depth: depth + 1))
            }
            return .sequence(items)
        case .beginMapping:
            var members: [Member] = []
            var names: Set<String> = []
            while case let event = try events.next(), event != .end {
                guard case .scalar(let name, _) = event else { throw events.flaw("A name is not a scalar") }
                guard names.insert(name).inserted else { throw events.flaw("'\(name)' is named twice") }
                members.append(Member(name, try value(try events.next(), &events, depth: depth + 1)))
            }
            return .mapping(members)
        case .begin, .end: throw events.flaw("A value is missing")
        }
    }
}
