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

    /// Puts parameters in order; one without value is written without `=` if so asked.
    init(_ parameters: [NamedValue], writesBareNames: Bool) {
        self.writesBareNames = writesBareNames
        for parameter in parameters { add(parameter) }
    }

    // Most queries come in order and all are short, so each parameter is put in its place at once.
    private mutating func add(_ parameter: NamedValue) {
        let start = text.count
        PercentEncoding.append(parameter.name, keeping: PercentEncoding.unreserved, to: &text)
        let middle = text.count
        PercentEncoding.append(parameter.value, keeping: PercentEncoding.unreserved, to: &text)
        let added = Parameter(name: start..<middle, value: middle..<text.count)
        var position = parameters.count
        while position > 0, precedes(added, parameters[position - 1]) { position -= 1 }
        parameters.insert(added, at: position)
    }

    /// Number of parameters.
    var count: Int { parameters.count }

    /// Whether the name of a parameter comes before another name, which needs no encoding.
    func name(at place: Int, precedes name: String) -> Bool {
        text[parameters[place].name].lexicographicallyPrecedes(name.utf8)
    }

    /// One parameter.
    subscript(place: Int) -> [UInt8] {
        let parameter = parameters[place]
        let name = Array(text[parameter.name])
        if writesBareNames, parameter.value.isEmpty { return name }
        return name + Array("=".utf8) + text[parameter.value]
    }

    /// The whole query.
    var bytes: [UInt8] {
        Array(parameters.indices.map { self[$0] }.joined(separator: "&".utf8))
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
