import LibCrypto

/// The end of a canonical request, behind the query: a line for each bound header, an empty one, their names, and what stands
/// for the body. All of it but the values, for headers of some names.
struct HeaderSection: Sendable {
    /// What stands before each value, and behind the last.
    private let text: [UInt8]
    /// Where in that each piece ends.
    private let ends: [Int]
    private let collapsesWhiteSpace: Bool
    /// The place of the header whose value stands for the body, if it is bound.
    private let payloadPlace: Int?
    /// The names that are listed, joined by `;`.
    let names: String

    /// Prepares it for names in lower case, each once, in their order.
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

    /// Room that it takes, values apart.
    var byteCount: Int { text.count + Self.payloadByteCount }

    /// Room for what stands for the body, unless it is the value of a header.
    private static let payloadByteCount = 64

    /// How often the value of a header is written: once more where it stands for the body.
    func valueCount(at place: Int) -> Int { place == payloadPlace ? 2 : 1 }

    /// Appends the line of a header up to its value, and the value.
    ///
    /// - Returns: Whether the value can be sent.
    func appendLine(at place: Int, _ value: String, to output: inout OutputSpan<UInt8>) -> Bool {
        output.append(copying: text.span.extracting((place == 0 ? 0 : ends[place - 1])..<ends[place]))
        return HeaderValue.append(value, collapsing: collapsesWhiteSpace, to: &output)
    }

    /// Appends what comes behind the lines of all headers.
    ///
    /// - Parameters:
    ///   - payload: What stands for the body, whatever the headers say of it.
    ///   - value: Gives the value of the header that stands for the body.
    ///   - output: To what.
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
