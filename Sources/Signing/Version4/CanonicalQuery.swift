import Bytes

/// Query parameters as "version 4" schemes sign them. Each is percent-encoded as `name=value`, or as the bare name
/// where the vendor writes that. They are sorted as bytes, by encoded name and then by encoded value.
struct CanonicalQuery {
    private struct Parameter {
        let name: Range<Int>
        let value: Range<Int>
    }

    private var text: [UInt8] = []
    private var parameters: [Parameter] = []
    private let writesBareNames: Bool

    /// Sorts parameters. With `writesBareNames`, a parameter without a value is written without `=`.
    init(_ parameters: [NamedValue], writesBareNames: Bool) {
        self.writesBareNames = writesBareNames
        for parameter in parameters { add(parameter) }
    }

    // Most queries are sorted already and all are short, so each parameter is inserted in its place.
    private mutating func add(_ parameter: NamedValue) {
        let start = text.count
        PercentEncoding.append(parameter.name, keeping: .unreserved, to: &text)
        let middle = text.count
        PercentEncoding.append(parameter.value, keeping: .unreserved, to: &text)
        let added = Parameter(name: start..<middle, value: middle..<text.count)
        var position = parameters.count
        while position > 0, precedes(added, parameters[position - 1]) { position -= 1 }
        parameters.insert(added, at: position)
    }

    /// Number of parameters.
    var count: Int { parameters.count }

    /// Whether the name of a parameter sorts before another name, which must need no encoding.
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

    /// Negative if the left bytes sort before the right ones, zero if they are equal, otherwise positive.
    private func compare(_ left: Range<Int>, _ right: Range<Int>) -> Int {
        for offset in 0..<min(left.count, right.count) {
            let (leftByte, rightByte) = (text[left.lowerBound + offset], text[right.lowerBound + offset])
            if leftByte != rightByte { return leftByte < rightByte ? -1 : 1 }
        }
        return left.count - right.count
    }
}
