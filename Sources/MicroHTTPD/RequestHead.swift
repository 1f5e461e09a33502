import CMicroHTTPD
import Glibc
import HTTPServing
import HTTPTypes

/// The head of a request that passed the guard.
struct RequestHead {
    /// How the body is delimited.
    enum Framing: Equatable {
        case none
        case length(Int64)
        case chunked
    }

    var request: HTTPRequest
    var framing: Framing
    var expectsContinue: Bool
}

/// A target as libmicrohttpd found it in the request line.
struct TargetLine {
    /// `nil` where a byte of it is no printable ASCII.
    var text: String?
    /// Up to the first NUL.
    var length: Int

    init(reading target: UnsafePointer<CChar>?) {
        guard let target = unsafe target else {
            text = nil
            length = 0
            return
        }
        let bytes = unsafe UnsafeBufferPointer(start: target, count: strlen(target))
        length = bytes.count
        let isPrintable = unsafe bytes.allSatisfy { $0 > 0x20 && $0 < 0x7F }
        text = unsafe isPrintable ? String(cString: target) : nil
    }
}

/// Refuses every request that libmicrohttpd 0.9.75 takes but that another reader could read differently.
///
/// libmicrohttpd leaves the head in one buffer and puts NULs over the line ends, so the pieces it hands over must follow one
/// another without a gap. Where they do not, there was something that it dropped or moved: a folded line (which it appends to
/// the NAME of the field before), a NUL that ends its view of a value, a bare LF, or more than one space.
@safe struct HeadGuard {
    /// The pieces of a request line, pointers into libmicrohttpd's buffer.
    @safe struct RequestLine {
        var method: UnsafePointer<CChar>
        var target: UnsafePointer<CChar>
        var version: UnsafePointer<CChar>
    }

    private var fields = HTTPFields()
    private var count = 0
    private let maxFields: Int
    /// Where the next field must start.
    private var expected: UnsafePointer<CChar>
    private var host: String?
    private var contentLength: Int64?
    private var transferEncoding: String?
    private var expectation: String?
    private var hasAuthorization = false
    private var failure: ServerFailure?

    private init(maxFields: Int, firstField: UnsafePointer<CChar>) {
        self.maxFields = maxFields
        unsafe expected = unsafe firstField
    }

    /// Reads the head of a request, or says why it is refused.
    static func read(
        _ connection: OpaquePointer, line: RequestLine, target: TargetLine, limits: HTTPServerConfiguration,
        scheme: String
    ) throws(ServerFailure) -> RequestHead {
        guard target.length <= limits.maxTargetBytes else { throw .uriTooLong }
        let size = unsafe sluice_head_size(connection)
        guard size <= limits.maxHeadBytes else { throw .headerFieldsTooLarge }
        let methodLength = unsafe strlen(line.method)
        guard let text = target.text, text.utf8.first == UInt8(ascii: "/") || text == "*",
            !text.utf8.contains(UInt8(ascii: "#")),
            unsafe line.target == line.method + methodLength + 1, unsafe line.version == line.target + target.length + 1
        else { throw .badRequest("The request line is malformed.") }
        guard unsafe strcmp(line.version, "HTTP/1.1") == 0 else {
            throw .badRequest("The protocol must be HTTP/1.1.")
        }
        let methodName = unsafe String(cString: line.method)
        guard let method = HTTPRequest.Method(methodName) else {
            throw .badRequest("The method is malformed.")
        }

        var head = unsafe HeadGuard(maxFields: limits.maxHeaderFields, firstField: line.version + 10)
        unsafe withUnsafeMutablePointer(to: &head) {
            _ = unsafe MHD_get_connection_values_n(connection, .HEADER_KIND, addField, $0)
        }
        if head.failure == nil, unsafe head.expected + 2 != line.method + size {
            head.failure = .badRequest("The header section is malformed.")
        }
        return try head.finish(method: method, scheme: scheme, path: text)
    }

    /// Whether a field read so far is a `Content-Length` that libmicrohttpd takes for no number.
    static func hasMalformedLength(_ connection: OpaquePointer) -> Bool {
        guard let value = unsafe MHD_lookup_connection_value(connection, .HEADER_KIND, "Content-Length") else {
            return false
        }
        let text = unsafe String(cString: value)
        return text.isEmpty || !text.utf8.allSatisfy { $0 >= 0x30 && $0 <= 0x39 } || UInt64(text) == nil
    }

    private func finish(
        method: HTTPRequest.Method, scheme: String, path: String
    ) throws(ServerFailure) -> RequestHead {
        if let failure { throw failure }
        guard let host, !host.isEmpty else {
            throw .badRequest("There must be one Host field, and not empty.")
        }
        if transferEncoding != nil, contentLength != nil {
            throw .badRequest("Content-Length and Transfer-Encoding exclude each other.")
        }
        var framing = RequestHead.Framing.none
        if let transferEncoding {
            guard transferEncoding.lowercased() == "chunked" else {
                throw .badRequest("The only transfer coding is chunked.")
            }
            framing = .chunked
        } else if let contentLength, contentLength > 0 {
            framing = .length(contentLength)
        }
        if let expectation, expectation.lowercased() != "100-continue" { throw .expectationFailed }
        let request = HTTPRequest(method: method, scheme: scheme, authority: host, path: path, headerFields: fields)
        return RequestHead(request: request, framing: framing, expectsContinue: expectation != nil)
    }

    /// Takes one field; `false` ends the reading.
    fileprivate mutating func add(name: UnsafeBufferPointer<CChar>, value: UnsafeBufferPointer<CChar>) -> Bool {
        guard let start = name.baseAddress, unsafe start == expected, let content = value.baseAddress,
            unsafe content > start + name.count
        else { return refuse("The header section is malformed.") }
        unsafe expected = unsafe content + value.count + 2
        count += 1
        guard count <= maxFields else {
            failure = .headerFieldsTooLarge
            return false
        }
        guard let fieldName = unsafe FieldNames.name(UnsafeRawBufferPointer(name)) else {
            return refuse("The name of a header field is malformed.")
        }
        guard let text = unsafe Self.text(UnsafeRawBufferPointer(value)) else {
            return refuse("The value of a header field is malformed.")
        }
        return keep(fieldName, text)
    }

    private mutating func keep(_ name: HTTPField.Name, _ value: String) -> Bool {
        switch name.canonicalName {
        case "host":
            guard host == nil, value.utf8.allSatisfy(Self.isAuthority) else {
                return refuse("There must be one Host field, and well-formed.")
            }
            host = value
            return true
        case "content-length":
            guard contentLength == nil, !value.isEmpty, value.utf8.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }),
                let length = Int64(value)
            else { return refuse("There may be one Content-Length field, of digits.") }
            contentLength = length
        case "authorization":
            guard !hasAuthorization else { return refuse("There may be one Authorization field.") }
            hasAuthorization = true
        case "transfer-encoding":
            guard transferEncoding == nil else { return refuse("There may be one Transfer-Encoding field.") }
            transferEncoding = value
        case "expect":
            expectation = expectation.map { $0 + ", " + value } ?? value
        case let other where other.hasPrefix("transfer-encoding"):
            return refuse("The name of a header field is malformed.")
        default: break
        }
        fields.append(HTTPField(name: name, value: value))
        return true
    }

    private mutating func refuse(_ reason: String) -> Bool {
        failure = .badRequest(reason)
        return false
    }

    /// The value without the spaces around it; `nil` where it holds a control character or is not UTF-8.
    private static func text(_ bytes: UnsafeRawBufferPointer) -> String? {
        var end = bytes.count
        while end > 0, unsafe bytes[end - 1] == 0x20 || bytes[end - 1] == 0x09 { end -= 1 }
        let kept = unsafe UnsafeRawBufferPointer(rebasing: bytes[..<end])
        guard unsafe kept.allSatisfy({ $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 }) else { return nil }
        return unsafe String(validating: kept, as: UTF8.self)
    }

    /// Letters, digits and what else a host, a port or an IPv6 literal is made of.
    private static func isAuthority(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
            UInt8(ascii: ":"), UInt8(ascii: "["), UInt8(ascii: "]"), UInt8(ascii: "~"):
            true
        default: false
        }
    }
}

/// Called by libmicrohttpd for each header field, in the order received.
private func addField(
    context: UnsafeMutableRawPointer?, kind: MHD_ValueKind, name: UnsafePointer<CChar>?, nameLength: Int,
    value: UnsafePointer<CChar>?, valueLength: Int
) -> MHD_Result {
    guard let head = unsafe context?.assumingMemoryBound(to: HeadGuard.self) else { return MHD_Result.NO }
    let goesOn = unsafe head.pointee.add(
        name: UnsafeBufferPointer(start: name, count: nameLength),
        value: UnsafeBufferPointer(start: value, count: valueLength)
    )
    return goesOn ? MHD_Result.YES : MHD_Result.NO
}
