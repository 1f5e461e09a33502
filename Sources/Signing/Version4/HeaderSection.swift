import Bytes

/// The end of a canonical request, after the query: a line for each bound header, an empty line, the names, and what
/// represents the body. Everything but the values is prepared once for a list of names.
struct HeaderSection: Sendable {
    /// The text before each value and after the last one.
    private let text: [UInt8]
    /// Where each piece of the text ends.
    private let ends: [Int]
    private let collapsesWhiteSpace: Bool
    /// The index of the header whose value represents the body, if it is bound.
    private let payloadPlace: Int?
    /// The names that are listed, joined by `;`.
    let names: String

    /// Prepares the text for names that are in lower case, sorted and distinct.
    init(names: [String], form: CanonicalHeaderForm) {
        var text: [UInt8] = []
        var ends: [Int] = []
        for name in names {
            text += "\n\(name):".utf8
            ends.append(text.count)
        }
        self.names = names.filter(form.lists).joined(separator: ";")
        text += "\n\n\(self.names)\n".utf8
        self.text = text
        self.ends = ends
        collapsesWhiteSpace = form.collapsesWhiteSpace
        payloadPlace = names.firstIndex { $0 == form.payloadHeader }
    }

    /// Bytes that it needs, without the values.
    var byteCount: Int { text.count + Self.payloadByteCount }

    /// Bytes of what represents the body, unless a header gives it.
    private static let payloadByteCount = 64

    /// How often the value of a header is written: twice if it represents the body.
    func valueCount(at place: Int) -> Int { place == payloadPlace ? 2 : 1 }

    /// Appends the line of a header.
    ///
    /// - Returns: Whether the value can be sent.
    func appendLine(at place: Int, _ value: String, to output: inout OutputSpan<UInt8>) -> Bool {
        output.append(copying: text.span.extracting((place == 0 ? 0 : ends[place - 1])..<ends[place]))
        return HeaderValue.append(value, collapsing: collapsesWhiteSpace, to: &output)
    }

    /// Appends what follows the lines of all headers.
    ///
    /// - Parameters:
    ///   - payload: What represents the body, regardless of the headers; `nil` to take it from them.
    ///   - value: Returns the value of the header that represents the body.
    ///   - output: The canonical request.
    func appendEnd(
        payload: String?, to output: inout OutputSpan<UInt8>, value: (_ place: Int) -> String
    ) {
        output.append(copying: text.span.extracting((ends.last ?? 0)..<text.count))
        if let payload {
            output.append(copying: payload)
        } else if let payloadPlace {
            HeaderValue.append(value(payloadPlace), collapsing: collapsesWhiteSpace, to: &output)
        } else {
            output.append(copying: PayloadHash.unsigned.text)
        }
    }
}
