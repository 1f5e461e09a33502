/// Query parameters in the form in which "version 4" schemes sign them: each name and value percent-encoded, `name=value`,
/// sorted by the encoded name, then the encoded value, as bytes.
struct CanonicalQuery {
    private struct Parameter {
        let name: Range<Int>
        let value: Range<Int>
    }

    private var text: [UInt8] = []
    private var parameters: [Parameter] = []

    /// Adds a parameter; neither name nor value is encoded yet.
    mutating func add(_ name: some Sequence<UInt8>, _ value: some Sequence<UInt8>) {
        let start = text.count
        PercentEncoding.append(name, keeping: PercentEncoding.unreserved, to: &text)
        let middle = text.count
        PercentEncoding.append(value, keeping: PercentEncoding.unreserved, to: &text)
        parameters.append(Parameter(name: start..<middle, value: middle..<text.count))
    }

    /// Appends the whole query to a buffer.
    func append(to buffer: inout [UInt8]) {
        var isFirst = true
        for parameter in parameters.sorted(by: precedes) {
            if !isFirst { buffer.append(UInt8(ascii: "&")) }
            isFirst = false
            buffer += text[parameter.name]
            buffer.append(UInt8(ascii: "="))
            buffer += text[parameter.value]
        }
    }

    private func precedes(_ left: Parameter, _ right: Parameter) -> Bool {
        if text[left.name].elementsEqual(text[right.name]) {
            return text[left.value].lexicographicallyPrecedes(text[right.value])
        }
        return text[left.name].lexicographicallyPrecedes(text[right.name])
    }
}
