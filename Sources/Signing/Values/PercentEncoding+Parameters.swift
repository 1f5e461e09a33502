import Bytes

extension PercentEncoding {
    /// Appends a key as a path, encoded except for `/`. The output needs room for three bytes per byte of the key.
    static func appendPath(_ key: String, to output: inout OutputSpan<UInt8>) {
        let bytes = key.utf8Span.span
        if bytes.isPlainPath {
            output.append(copying: bytes)
        } else {
            append(bytes, keeping: .unreservedAndSlash, to: &output)
        }
    }

    /// Appends `name=value`, or the bare name when the value is empty.
    static func append(_ parameter: NamedValue, to buffer: inout [UInt8]) {
        append(parameter.name, keeping: .unreserved, to: &buffer)
        guard !parameter.value.isEmpty else { return }
        buffer.append(UInt8(ascii: "="))
        append(parameter.value, keeping: .unreserved, to: &buffer)
    }

    /// Appends `name=value` as an HTML form writes it, with `+` for a space.
    static func appendForm(_ parameter: NamedValue, to buffer: inout [UInt8]) {
        appendForm(parameter.name, to: &buffer)
        buffer.append(UInt8(ascii: "="))
        appendForm(parameter.value, to: &buffer)
    }

    private static func appendForm(_ text: String, to buffer: inout [UInt8]) {
        let words = text.utf8.split(separator: UInt8(ascii: " "), omittingEmptySubsequences: false)
        for (index, word) in words.enumerated() {
            if index > 0 { buffer.append(UInt8(ascii: "+")) }
            append(String(Substring(word)), keeping: .unreserved, to: &buffer)
        }
    }

    /// Appends a header as a parameter, and `&`, unless its value is empty. The output needs room for it.
    static func append(header name: String, _ value: String, to output: inout OutputSpan<UInt8>) {
        let bytes = value.utf8Span.span
        if bytes.isAbove(UInt8(ascii: " ")) {
            append(header: name, bytes, to: &output)
        } else {
            append(header: name, HeaderValue.canonical(value, collapsing: false).span, to: &output)
        }
    }

    private static func append(header name: String, _ value: Span<UInt8>, to output: inout OutputSpan<UInt8>) {
        guard !value.isEmpty else { return }
        output.append(copying: name)
        output.append(UInt8(ascii: "="))
        append(value, keeping: .unreserved, to: &output)
        output.append(UInt8(ascii: "&"))
    }
}
