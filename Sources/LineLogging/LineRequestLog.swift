import FoundationEssentials
public import GatewayAPI
import GatewayCore
import Logging

/// Writes a line for each request to standard error, among the other log lines.
///
/// Every request has such a line, so it is written directly to the output, without swift-log.
public struct LineRequestLog: RequestLog {
    let label: String
    let format: LogFormat
    /// The lowest level of the lines that are written.
    let logLevel: Logger.Level

    /// Whether lines of requests are written. Their level is info.
    var isOn: Bool { logLevel <= .info }

    /// Writes the line of a request.
    public func answered(_ request: AnsweredRequest) {
        guard isOn else { return }
        let now = Date.now
        LogOutput.standardError.write(at: now, isUrgent: false) { lines, clock in
            append(request, at: clock.time(of: now), to: &lines)
        }
    }

    /// Appends the line of a request.
    func append(_ request: AnsweredRequest, at time: LogTime, to lines: inout [UInt8]) {
        let principal = request.principal?.rawValue
        let bytes =
            192 + label.utf8.count + request.id.utf8.count + request.route.utf8.count
            + (principal?.utf8.count ?? 0) + (request.row?.utf8.count ?? 0) + (request.code?.utf8.count ?? 0)
            + (request.cause?.description.utf8.count ?? 0)
        let refusal = LoggedRefusal(of: request)
        let room = LogLine.room(fields: 11 + LoggedRefusal.maxFields, bytes: bytes + (refusal?.byteCount ?? 0))
        lines.append(addingCapacity: room) { output in
            var line = LogLine(
                format, level: .info, label: label, source: "GatewayAPI",
                message: request.status == nil ? "Request abandoned" : "Request answered", at: time, in: &output)
            line.field("bucket", ifSet: refusal?.bucket, in: &output)
            if let cause = request.cause { line.field("cause", cause.description, in: &output) }
            if let client = request.sourceAddress { line.field("client", client, in: &output) }
            if let code = request.code { line.field("code", code, in: &output) }
            line.field("duration.us", request.microseconds, in: &output)
            line.field("grant", ifSet: refusal?.grant, in: &output)
            line.field("key.prefix", ifSet: refusal?.keyPrefix, in: &output)
            line.field("key.sha256", ifSet: refusal?.keySHA256, in: &output)
            line.field("method", verbatim: request.method, in: &output)
            if let principal { line.field("principal", principal, in: &output) }
            line.field("reason", ifSet: refusal?.reason, in: &output)
            line.field("reason.subject", ifSet: refusal?.subject, in: &output)
            line.field("reasons", ifSet: refusal?.reasons, in: &output)
            if request.refusalCount > 1 { line.field("refusals", Int64(request.refusalCount), in: &output) }
            line.field("request.id", verbatim: request.id, in: &output)
            line.field("route", verbatim: request.route, in: &output)
            line.field("row", ifSet: request.row, in: &output)
            if let trace = request.trace { line.field("spanId", verbatim: trace.spanID, in: &output) }
            if let status = request.status { line.field("status", Int64(status), in: &output) }
            if let trace = request.trace { line.field("traceId", verbatim: trace.traceID, in: &output) }
            line.end(in: &output)
        }
    }
}
