/// XML that need not be whole or well-formed, such as the beginning of a store's error, or what a proxy says instead.
///
/// A person reads what is found here, or it decides whether to ask again. Whatever must be certain is read as an
/// ``XMLElement``.
public enum XMLFragment {
    /// The text between the first `<name>` and the next `</name>`, as it is written, with references and elements
    /// unresolved; `nil` if there is none.
    public static func text(of name: String, in bytes: some Collection<UInt8>) -> String? {
        let text = String(decoding: bytes, as: UTF8.self)
        guard let start = text.firstRange(of: "<\(name)>"),
            let end = text[start.upperBound...].firstRange(of: "</\(name)>")
        else { return nil }
        return String(text[start.upperBound..<end.lowerBound])
    }
}
