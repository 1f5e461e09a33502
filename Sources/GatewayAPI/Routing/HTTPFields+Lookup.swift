import HTTPTypes

// A request has few fields, and most of its answers need two of them: looking at each costs less than the index that the
// subscripts of `HTTPFields` make of all.
extension HTTPFields {
    /// The values of every field of a name, in order.
    func all(_ name: HTTPField.Name) -> [String] {
        var values: [String] = []
        for field in self where field.name == name { values.append(field.value) }
        return values
    }

    /// The value of the field of a name; of several, all of them with commas between (RFC 9110, 5.3).
    func text(_ name: HTTPField.Name) -> String? {
        let values = all(name)
        return values.count > 1 ? values.joined(separator: ", ") : values.first
    }
}
