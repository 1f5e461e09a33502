import CLibPQ
import Glibc
import Logging

/// Owns one `PGconn`, which is established or being established.
///
/// - Invariant: There is one owner at a time, and only the owner passes the pointer to libpq. libpq keeps no state per
///   thread, so one thread may create a handle and pass it to another.
@safe
struct Handle: ~Copyable, @unchecked Sendable {
    let pointer: OpaquePointer
    /// The sink for notices. libpq keeps a pointer to it until `PQfinish`.
    private let notices: NoticeSink

    /// Starts to connect; `nil` if memory is exhausted.
    init?(parameters: [String: String], logger: Logger) {
        let entries = Array(parameters)
        let started = unsafe withCStrings(entries.map(\.key)) { keywords in
            unsafe withCStrings(entries.map(\.value)) { values in
                unsafe PQconnectStartParams(keywords, values, 0)
            }
        }
        guard let started = unsafe started else { return nil }
        unsafe pointer = started
        notices = NoticeSink(logger: logger)
        // With it, the text of a failed login has the SQLSTATE, which libpq reports in no other way.
        unsafe PQsetErrorVerbosity(pointer, PQERRORS_VERBOSE)
        // The default receiver would print to standard error.
        unsafe PQsetNoticeReceiver(pointer, receiveNotice, Unmanaged.passUnretained(notices).toOpaque())
    }

    deinit {
        unsafe PQfinish(pointer)
    }

    var socket: Int32 { unsafe PQsocket(pointer) }
    var isBroken: Bool { unsafe PQstatus(pointer) == CONNECTION_BAD }
    var errorMessage: String { unsafe trimmed(PQerrorMessage(pointer)) }
    /// The first warning since the last call of ``forgetWarning()``.
    var warning: String? { notices.warning }

    /// Ends the verbose texts of the login.
    func endsLogin() {
        unsafe PQsetErrorVerbosity(pointer, PQERRORS_DEFAULT)
    }

    func forgetWarning() {
        if notices.warning != nil { notices.warning = nil }
    }
}

/// Receives the notices of a connection.
private final class NoticeSink {
    let logger: Logger
    var warning: String?

    init(logger: Logger) {
        self.logger = logger
    }

    /// Severities that cast no doubt on the statement.
    private static let harmlessSeverities: Set<String> = ["DEBUG", "LOG", "INFO", "NOTICE"]
    /// Server functions that warn about the approaching end of the transaction numbers, on each of many writes.
    private static let harmlessSources: Set<String> = ["GetNewTransactionId", "GetNewMultiXactId"]

    func take(_ notice: PostgresError.ServerError, from source: String?) {
        logger.debug(
            "PostgreSQL notice",
            metadata: [
                "severity": "\(notice.severity)", "sqlstate": "\(notice.sqlState)", "notice": "\(notice.message)",
            ])
        guard warning == nil, !Self.harmlessSeverities.contains(notice.severity),
            !Self.harmlessSources.contains(source ?? "")
        else { return }
        warning = "\(notice.severity) \(notice.sqlState): \(notice.message)"
    }
}

/// libpq's callback for notices and warnings of the server. libpq calls it on the thread that reads from the
/// connection.
private func receiveNotice(context: UnsafeMutableRawPointer?, result: OpaquePointer?) {
    guard let context = unsafe context, let result = unsafe result else { return }
    let sink = unsafe Unmanaged<NoticeSink>.fromOpaque(context).takeUnretainedValue()
    unsafe sink.take(PostgresError.ServerError(reading: result), from: errorField("R", of: result))
}

/// Returns a field of an error or notice, by its letter in the protocol.
private func errorField(_ code: Character, of result: OpaquePointer) -> String? {
    let value = unsafe PQresultErrorField(result, Int32(code.asciiValue ?? 0))
    return unsafe value.map { unsafe trimmed($0) }
}

extension PostgresError.ServerError {
    /// Copies the fields of an error or notice.
    init(reading result: OpaquePointer) {
        func field(_ code: Character) -> String? { unsafe errorField(code, of: result) }
        // Errors that libpq itself creates have only a text and no fields.
        let text = unsafe PQresultErrorMessage(result).map { unsafe trimmed($0) }
        self.init(
            sqlState: field("C") ?? "", severity: field("V") ?? "ERROR", message: field("M") ?? text ?? "",
            constraint: field("n"))
    }
}

/// Returns a message of libpq without the line break at its end.
func trimmed(_ text: UnsafePointer<CChar>) -> String {
    let text = unsafe String(cString: text)
    return String(text[..<(text.lastIndex { !$0.isNewline }.map(text.index(after:)) ?? text.startIndex)])
}

/// Calls `body` with the texts as a NULL-terminated array of C strings.
private func withCStrings<Result>(
    _ texts: [String], _ body: (UnsafePointer<UnsafePointer<CChar>?>?) -> Result
) -> Result {
    var copies = unsafe texts.map { unsafe UnsafePointer<CChar>(strdup($0)) }
    unsafe copies.append(nil)
    defer { unsafe copies.forEach { unsafe free(UnsafeMutableRawPointer(mutating: $0)) } }
    return unsafe copies.withUnsafeBufferPointer { unsafe body($0.baseAddress) }
}
