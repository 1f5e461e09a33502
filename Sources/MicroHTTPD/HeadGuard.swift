import Bytes
import CMicroHTTPD
import Glibc
import HTTPServing
import HTTPTypes

/// The head of a request that passed the guard.
struct GuardedHead {
    /// How the body is delimited.
    enum Framing: Equatable {
        case none
        case length(Int64)
        case chunked
    }

    var request: RequestHead
    var framing: Framing
    var expectsContinue: Bool
}

/// How much of a connection's memory a head takes. libmicrohttpd 0.9.75 takes it for both heads from one block.
enum HeadMemory {
    /// What libmicrohttpd keeps of a field or cookie besides its text: 56 bytes, aligned to 16.
    private static let bytesPerValue = 64
    /// Status line, the fields that libmicrohttpd adds, and the line ends of an answer.
    private static let ownBytesOfAnswer = 256

    /// Bytes that a request takes. libmicrohttpd copies cookies to take them apart.
    static func ofRequest(_ connection: OpaquePointer) -> Int {
        var cookies = 0
        unsafe MHD_lookup_connection_value_n(connection, .HEADER_KIND, "Cookie", 6, nil, &cookies)
        return unsafe sluice_head_size(connection) + bytesPerValue * Int(sluice_value_count(connection)) + cookies
    }

    /// Bytes that the head of an answer needs at most.
    static func ofAnswer(_ head: ResponseHead) -> Int { head.headerFields.bytes.count + ownBytesOfAnswer }
}

/// Refuses requests that libmicrohttpd 0.9.75 accepts but that another reader could read differently.
///
/// libmicrohttpd keeps the head in one buffer and overwrites the line ends with NULs, so the pieces that it hands over
/// must be contiguous. A gap means that it dropped or moved something: a folded line (which it appends to the NAME of
/// the previous field), a NUL that ends its view of a value, a bare LF, or more than one space.
@safe struct HeadGuard {
    /// The pieces of a request line, pointers into libmicrohttpd's buffer.
    @safe struct RequestLine {
        var method: UnsafePointer<CChar>
        var target: UnsafePointer<CChar>
        var version: UnsafePointer<CChar>
    }

    private var output: HeaderFieldOutput
    /// Where the next field must start.
    private var expected: UnsafePointer<CChar>
    /// `nil` if there is none.
    private var hostLength: Int?
    private var contentLength: Int64?
    /// Whether the one transfer coding is `chunked`; `nil` if there is none.
    private var isChunked: Bool?
    /// Whether the only expectation is `100-continue`; `nil` if there is none.
    private var expectsContinue: Bool?
    private var hasAuthorization = false
    private var failure: ServerFailure?

    private init(firstField: UnsafePointer<CChar>, output: HeaderFieldOutput) {
        self.output = output
        unsafe expected = unsafe firstField
    }

    /// Reads the head of a request, which takes `memory` bytes, or returns why it is refused.
    static func read(
        _ connection: OpaquePointer, line: RequestLine, target: TargetLine, memory: Int, maxTargetBytes: Int,
        maxBytes: Int
    ) throws(ServerFailure) -> GuardedHead {
        guard target.length <= maxTargetBytes else { throw .uriTooLong }
        let size = unsafe sluice_head_size(connection)
        guard memory <= maxBytes else { throw .headerFieldsTooLarge(maxBytes: maxBytes) }
        let methodLength = unsafe strlen(line.method)
        guard let text = target.text, unsafe line.target == line.method + methodLength + 1,
            unsafe line.version == line.target + target.length + 1
        else { throw .badRequest("The request line is malformed.") }
        guard unsafe strcmp(line.version, "HTTP/1.1") == 0 else {
            throw .badRequest("The protocol must be HTTP/1.1.")
        }
        guard let method = unsafe Self.method(UnsafeRawBufferPointer(start: line.method, count: methodLength)) else {
            throw .badRequest("The method is malformed.")
        }

        var outcome = Result<(GuardedHead.Framing, Bool), ServerFailure>.success((.none, false))
        let capacity = unsafe HeaderFieldOutput.capacity(
            headBytes: size, fields: Int(MHD_get_connection_values_n(connection, .HEADER_KIND, nil, nil)))
        let bytes = unsafe [UInt8](unsafeUninitializedCapacity: capacity) { buffer, count in
            var head = unsafe HeadGuard(
                firstField: line.version + 10, output: HeaderFieldOutput(UnsafeMutableRawBufferPointer(buffer)))
            unsafe withUnsafeMutablePointer(to: &head) {
                _ = unsafe MHD_get_connection_values_n(connection, .HEADER_KIND, addField, $0)
            }
            if head.failure == nil, unsafe head.expected + 2 != line.method + size {
                head.failure = .badRequest("The header section is malformed.")
            }
            count = head.output.count
            outcome = head.outcome
        }
        let (framing, expectsContinue) = try outcome.get()
        let request = RequestHead(method: method, target: text, headerFields: HeaderFields(wellFormed: bytes))
        return GuardedHead(request: request, framing: framing, expectsContinue: expectsContinue)
    }

    private static func method(_ name: UnsafeRawBufferPointer) -> HTTPRequest.Method? {
        if unsafe name.elementsEqual("GET".utf8) { return .get }
        if unsafe name.elementsEqual("POST".utf8) { return .post }
        return unsafe HTTPRequest.Method(String(decoding: name, as: UTF8.self))
    }

    /// Whether a field so far is a `Content-Length` that libmicrohttpd does not accept as a number.
    static func hasMalformedLength(_ connection: OpaquePointer) -> Bool {
        guard let value = unsafe MHD_lookup_connection_value(connection, .HEADER_KIND, "Content-Length") else {
            return false
        }
        let text = unsafe String(cString: value)
        return text.isEmpty || !text.utf8.allSatisfy(ByteSet.digits.contains) || UInt64(text) == nil
    }

    /// What the fields say about the body and expectations, or why they are refused.
    private var outcome: Result<(GuardedHead.Framing, Bool), ServerFailure> {
        if let failure { return .failure(failure) }
        guard let hostLength, hostLength > 0 else {
            return .failure(.badRequest("There must be one Host field, which must not be empty."))
        }
        if isChunked != nil, contentLength != nil {
            return .failure(.badRequest("Content-Length and Transfer-Encoding exclude each other."))
        }
        var framing = GuardedHead.Framing.none
        if let isChunked {
            guard isChunked else { return .failure(.badRequest("The only supported transfer coding is chunked.")) }
            framing = .chunked
        } else if let contentLength, contentLength > 0 {
            framing = .length(contentLength)
        }
        if expectsContinue == false { return .failure(.expectationFailed) }
        return .success((framing, expectsContinue != nil))
    }

    /// Reads one field; `false` ends the reading.
    fileprivate mutating func add(name: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer) -> Bool {
        guard let start = name.baseAddress, unsafe start == UnsafeRawPointer(expected),
            let content = value.baseAddress, unsafe content > start + name.count
        else { return refuse("The header section is malformed.") }
        unsafe expected = unsafe (content + value.count + 2).assumingMemoryBound(to: CChar.self)
        guard unsafe FieldBytes.isToken(name) else { return refuse("The name of a header field is malformed.") }
        guard let trimmed = unsafe FieldBytes.trimmed(value) else {
            return refuse("The value of a header field is malformed.")
        }
        guard unsafe note(name, trimmed, untrimmed: value) else { return false }
        unsafe output.append(name, trimmed)
        return true
    }

    /// Checks the fields that determine the end of the request and its host.
    private mutating func note(
        _ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer, untrimmed: UnsafeRawBufferPointer
    ) -> Bool {
        switch name.count {
        case 4 where unsafe FieldBytes.spell(name, "host"):
            guard hostLength == nil, unsafe value.allSatisfy(FieldBytes.authority.contains) else {
                return refuse("There must be one well-formed Host field.")
            }
            hostLength = value.count
        case 6 where unsafe FieldBytes.spell(name, "expect"):
            expectsContinue = unsafe expectsContinue == nil && FieldBytes.spell(value, "100-continue")
        case 13 where unsafe FieldBytes.spell(name, "authorization"):
            guard !hasAuthorization else { return refuse("There must be at most one Authorization field.") }
            hasAuthorization = true
        case 14 where unsafe FieldBytes.spell(name, "content-length"):
            guard contentLength == nil, let length = unsafe FieldBytes.number(value) else {
                return refuse("There must be at most one Content-Length field, which must consist of digits.")
            }
            contentLength = length
        case 17... where unsafe FieldBytes.spell(UnsafeRawBufferPointer(rebasing: name[..<17]), "transfer-encoding"):
            guard name.count == 17 else { return refuse("The name of a header field is malformed.") }
            guard isChunked == nil else { return refuse("There must be at most one Transfer-Encoding field.") }
            // libmicrohttpd does not trim the end, and takes everything up to the end of the connection for the body.
            isChunked = unsafe FieldBytes.spell(untrimmed, "chunked")
        default: break
        }
        return true
    }

    private mutating func refuse(_ reason: String) -> Bool {
        failure = .badRequest(reason)
        return false
    }
}

/// Called by libmicrohttpd for each header field, in the order received.
private func addField(
    context: UnsafeMutableRawPointer?, kind: MHD_ValueKind, name: UnsafePointer<CChar>?, nameLength: Int,
    value: UnsafePointer<CChar>?, valueLength: Int
) -> MHD_Result {
    guard let head = unsafe context?.assumingMemoryBound(to: HeadGuard.self) else { return MHD_Result.NO }
    let goesOn = unsafe head.pointee.add(
        name: UnsafeRawBufferPointer(start: name, count: nameLength),
        value: UnsafeRawBufferPointer(start: value, count: valueLength)
    )
    return goesOn ? MHD_Result.YES : MHD_Result.NO
}
