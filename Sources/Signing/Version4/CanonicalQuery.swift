/// Query parameters in the form in which "version 4" schemes sign them: each name and value percent-encoded, `name=value`
/// (or the bare name where the vendor writes that), sorted by the encoded name, then the encoded value, as bytes.
struct CanonicalQuery {
    private struct Parameter {
        let name: Range<Int>
        let value: Range<Int>
    }

    private var text: [UInt8] = []
    private var parameters: [Parameter] = []
    private let writesBareNames: Bool

    /// Makes an empty query; a parameter without value is written without `=` if so asked.
    init(writesBareNames: Bool) {
        self.writesBareNames = writesBareNames
        text.reserveCapacity(512)
        parameters.reserveCapacity(12)
    }

    /// Adds a parameter; neither name nor value is encoded yet.
    mutating func add(_ name: String, _ value: String) {
        add(
            name: { PercentEncoding.append(name, keeping: PercentEncoding.unreserved, to: &$0) },
            value: { PercentEncoding.append(value, keeping: PercentEncoding.unreserved, to: &$0) }
        )
    }

    /// Adds a parameter whose name needs no encoding, and whose value is appended encoded.
    mutating func add(unreserved name: String, appendValue: (inout [UInt8]) -> Void) {
        add(name: { $0 += name.utf8 }, value: appendValue)
    }

    // Most queries come in order and all are short, so each parameter is put in its place at once.
    private mutating func add(name: (inout [UInt8]) -> Void, value: (inout [UInt8]) -> Void) {
        let start = text.count
        name(&text)
        let middle = text.count
        value(&text)
        let added = Parameter(name: start..<middle, value: middle..<text.count)
        var position = parameters.count
        while position > 0, precedes(added, parameters[position - 1]) { position -= 1 }
        parameters.insert(added, at: position)
    }

    /// Appends the whole query to a buffer.
    func append(to buffer: inout [UInt8]) {
        var isFirst = true
        for parameter in parameters {
            if !isFirst { buffer.append(UInt8(ascii: "&")) }
            isFirst = false
            buffer += text[parameter.name]
            if writesBareNames, parameter.value.isEmpty { continue }
            buffer.append(UInt8(ascii: "="))
            buffer += text[parameter.value]
        }
    }

    private func precedes(_ left: Parameter, _ right: Parameter) -> Bool {
        let names = compare(left.name, right.name)
        return names < 0 || names == 0 && compare(left.value, right.value) < 0
    }

    /// Negative, zero or positive as the left bytes come before, are, or come after the right ones.
    private func compare(_ left: Range<Int>, _ right: Range<Int>) -> Int {
        for offset in 0..<min(left.count, right.count) {
            let (leftByte, rightByte) = (text[left.lowerBound + offset], text[right.lowerBound + offset])
            if leftByte != rightByte { return leftByte < rightByte ? -1 : 1 }
        }
        return left.count - right.count
    }
}
