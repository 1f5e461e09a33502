import Bytes

/// The place of a request in a trace that its caller began (W3C Trace Context).
///
/// It is a class so that a request without one holds a single word.
public final class TraceContext: Sendable {
    /// The identifier of the trace: 32 lower-case hexadecimal digits.
    public let traceID: String
    /// The identifier of what this gateway does for the request: 16 lower-case hexadecimal digits.
    public let spanID: String
    /// Whether the caller records the trace.
    let isSampled: Bool
    /// What other systems noted about the trace, with spaces in place of tabs; `nil` if they noted nothing or more than
    /// 512 bytes. One outbound request may serve several callers, so a field that a server refuses would fail them all.
    public let state: String?

    /// The trace of the request that the running task is about; `nil` if it has none.
    @TaskLocal public static var current: TraceContext?

    /// Reads the header fields of a request.
    ///
    /// - Parameters:
    ///   - parent: The value of `traceparent`.
    ///   - state: The values of `tracestate`, in the order of the fields.
    ///   - spanBytes: Eight unpredictable bytes.
    /// - Returns: `nil` if the value breaks the rules of its version, or if there are not eight bytes.
    public init?(parent: String, state: [String], spanBytes: [UInt8]) {
        let bytes = Array(parent.utf8)
        guard bytes.count >= Self.length, spanBytes.count == 8, spanBytes.contains(where: { $0 != 0 }),
            let version = Self.hexadecimal(bytes[0..<2]), version != "ff",
            version == "00" ? bytes.count == Self.length : Self.isDash(bytes, at: Self.length),
            [2, 35, 52].allSatisfy({ Self.isDash(bytes, at: $0) }),
            let traceID = Self.identifier(bytes[3..<35]), Self.identifier(bytes[36..<52]) != nil,
            let flags = Self.hexadecimal(bytes[53..<55]).flatMap({ UInt8($0, radix: 16) })
        else { return nil }
        self.traceID = traceID
        spanID = Hex.encode(spanBytes)
        isSampled = flags & 1 == 1
        let joined = String(decoding: state.joined(separator: ",").utf8.map { $0 == 0x09 ? 0x20 : $0 }, as: UTF8.self)
        self.state = 1...512 ~= joined.utf8.count && joined.utf8.allSatisfy { 0x20...0x7e ~= $0 } ? joined : nil
    }

    /// The value of `traceparent` for requests that are made for this one.
    public var parent: String { "00-\(traceID)-\(spanID)-\(isSampled ? "01" : "00")" }

    /// Length of version 00. Later versions may add parts after another dash.
    private static let length = 55

    private static func isDash(_ bytes: [UInt8], at place: Int) -> Bool {
        place >= bytes.count || bytes[place] == UInt8(ascii: "-")
    }

    private static func hexadecimal(_ bytes: ArraySlice<UInt8>) -> String? {
        guard bytes.allSatisfy(ByteSet.lowerHexDigits.contains) else { return nil }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// An identifier, of which zero is none.
    private static func identifier(_ bytes: ArraySlice<UInt8>) -> String? {
        bytes.contains { $0 != UInt8(ascii: "0") } ? hexadecimal(bytes) : nil
    }
}
