/// The text of a presigned URL, to change parts of it without signing again.
struct LinkText {
    private let place: String
    private var items: [(name: String, value: String)]

    init(_ url: String) {
        let parts = url.split(separator: "?", maxSplits: 1)
        place = String(parts[0])
        items = (parts.count > 1 ? parts[1] : "").split(separator: "&").map { item in
            let pair = item.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            return (String(pair[0]), pair.count > 1 ? String(pair[1]) : "")
        }
    }

    private static func text(_ place: String, _ items: [(name: String, value: String)]) -> String {
        place + "?" + items.map { "\($0.name)=\($0.value)" }.joined(separator: "&")
    }

    private func change(_ name: String, _ new: (String) -> String?) -> String? {
        guard let index = items.firstIndex(where: { Self.isNamed($0.name, name) }) else { return nil }
        var changed = items
        if let value = new(items[index].value) { changed[index].value = value } else { changed.remove(at: index) }
        return Self.text(place, changed)
    }

    /// Whether a parameter has a name, with or without a vendor's prefix such as `X-Amz-`.
    private static func isNamed(_ name: String, _ wanted: String) -> Bool {
        let name = name.lowercased()
        return name == wanted || ["x-amz-", "x-oss-", "x-goog-"].contains { name == $0 + wanted }
    }

    /// The URL without its signature.
    var unsigned: String { change("signature") { _ in nil } ?? place }

    /// The URL without any parameter.
    var bare: String { place }

    /// The URL with another signature of the same form.
    var wronglySigned: String? {
        change("signature") { value in
            guard let first = value.first else { return nil }
            return (first == "A" || first == "a" ? "b" : "a") + value.dropFirst()
        }
    }

    /// The URL with an end that is 50 minutes later.
    var longerLived: String? {
        change("expires") { value in Int(value).map { String($0 + 3000) } }
    }

    /// The URL with another region in its credential scope; `nil` for a scheme without regions.
    func inRegion(_ other: String, insteadOf region: String) -> String? {
        let changed = change("credential") { $0.replacing("%2F\(region)%2F", with: "%2F\(other)%2F") }
        return changed == Self.text(place, items) ? nil : changed
    }

    /// The URL for another key of the same form.
    func forKey(_ other: String, insteadOf key: String) -> String? {
        guard let range = place.ranges(of: key).last else { return nil }
        return Self.text(place.replacingCharacters(range, with: other), items)
    }

    /// The URL with another value of a parameter, or without it.
    func with(_ name: String, _ value: String?) -> String? {
        change(name) { _ in value }
    }

    /// The URL with a parameter inside the value of another one, which is added.
    func hiding(_ name: String, in other: String) -> String? {
        guard let index = items.firstIndex(where: { Self.isNamed($0.name, name) }) else { return nil }
        var changed = items
        changed[index] = (other, "%26\(items[index].name)%3D\(items[index].value)")
        return Self.text(place, changed)
    }

    /// The URL with a parameter more.
    func adding(_ name: String, _ value: String) -> String { Self.text(place, items + [(name, value)]) }
}

extension String {
    fileprivate func replacingCharacters(_ range: Range<String.Index>, with text: String) -> String {
        self[..<range.lowerBound] + text + self[range.upperBound...]
    }
}
