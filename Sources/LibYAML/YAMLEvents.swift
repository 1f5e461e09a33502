internal import CLibYAML

/// Takes a text apart, event by event. It owns libyaml's parser and a copy of the text, to which the parser points.
@safe struct YAMLEvents: ~Copyable {
    /// A step through the document.
    enum Event: Equatable {
        /// The text or a document begins.
        case begin
        case beginSequence
        case beginMapping
        /// What began last ends.
        case end
        /// A text; `isPlain` if it stands without quotes and is no block.
        case scalar(String, isPlain: Bool)
    }

    private let parser: UnsafeMutablePointer<yaml_parser_t>
    private let text: UnsafeMutableBufferPointer<UInt8>
    /// The line of the last event, counted from 0.
    private var line = 0

    init(_ text: String) throws(YAMLFlaw) {
        let parser = UnsafeMutablePointer<yaml_parser_t>.allocate(capacity: 1)
        guard unsafe yaml_parser_initialize(parser) == 1 else {
            unsafe parser.deallocate()
            throw YAMLFlaw(reason: "There is no memory for a parser", line: 1)
        }
        unsafe self.parser = parser
        // One more, since libyaml takes no null pointer.
        unsafe self.text = .allocate(capacity: text.utf8.count + 1)
        let (_, count) = unsafe self.text.initialize(from: text.utf8)
        unsafe yaml_parser_set_encoding(parser, YAML_UTF8_ENCODING)
        unsafe yaml_parser_set_input_string(parser, self.text.baseAddress, count)
    }

    deinit {
        unsafe yaml_parser_delete(parser)
        unsafe parser.deallocate()
        unsafe text.deallocate()
    }

    /// Reads the next event.
    mutating func next() throws(YAMLFlaw) -> Event {
        var event = unsafe yaml_event_t()
        guard unsafe yaml_parser_parse(parser, &event) == 1 else {
            line = unsafe Int(clamping: parser.pointee.problem_mark.line)
            throw flaw(unsafe parser.pointee.problem.map { unsafe String(cString: $0) } ?? "The text cannot be read")
        }
        defer { unsafe yaml_event_delete(&event) }
        line = unsafe Int(clamping: event.start_mark.line)
        switch unsafe event.type {
        case YAML_STREAM_START_EVENT, YAML_DOCUMENT_START_EVENT: return .begin
        case YAML_STREAM_END_EVENT, YAML_DOCUMENT_END_EVENT, YAML_SEQUENCE_END_EVENT, YAML_MAPPING_END_EVENT:
            return .end
        case YAML_SEQUENCE_START_EVENT:
            let start = unsafe event.data.sequence_start
            try refuse(unsafe start.anchor != nil || start.tag != nil)
            return .beginSequence
        case YAML_MAPPING_START_EVENT:
            let start = unsafe event.data.mapping_start
            try refuse(unsafe start.anchor != nil || start.tag != nil)
            return .beginMapping
        case YAML_SCALAR_EVENT:
            let scalar = unsafe event.data.scalar
            try refuse(unsafe scalar.anchor != nil || scalar.tag != nil)
            let bytes = unsafe UnsafeBufferPointer(start: scalar.value, count: scalar.length)
            return .scalar(
                unsafe String(decoding: bytes, as: UTF8.self), isPlain: unsafe scalar.style == YAML_PLAIN_SCALAR_STYLE)
        default: throw flaw("Aliases are not accepted")
        }
    }

    /// A flaw at the last event.
    func flaw(_ reason: String) -> YAMLFlaw { YAMLFlaw(reason: reason, line: line + 1) }

    private func refuse(_ isMarked: Bool) throws(YAMLFlaw) {
        if isMarked { throw flaw("Anchors and tags are not accepted") }
    }
}
