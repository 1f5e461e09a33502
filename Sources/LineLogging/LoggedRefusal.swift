import GatewayAPI
import GatewayCore
import Bytes

/// The fields of a refusal in the line of its request, as texts.
struct LoggedRefusal {
    /// Most fields that a refusal adds to a line.
    static let maxFields = 7

    let bucket: String?
    let grant: String?
    let keyPrefix: String?
    let keySHA256: String?
    let reason: String?
    /// What the reason concerns; `nil` where the line has it as its cause.
    let subject: String?
    /// The reasons of a batch's first refusals, each once and in their order, where there are several.
    let reasons: String?

    /// Reads the fields; `nil` where nothing was refused. Those of one refusal are the first one's.
    init?(of request: AnsweredRequest) {
        guard let note = request.refusals.first else { return nil }
        bucket = note.target?.bucket.rawValue
        grant = note.grantID?.lowercaseText
        keyPrefix = note.target?.keyPrefix
        keySHA256 = note.target.map { Hex.encode($0.keySHA256) }
        reason = note.reason.rawValue
        subject = request.cause == nil ? note.subject : nil
        var names: [String] = []
        for refusal in request.refusals where !names.contains(refusal.reason.rawValue) {
            names.append(refusal.reason.rawValue)
        }
        reasons = names.count > 1 ? names.joined(separator: ",") : nil
    }

    /// Length of all names and texts in bytes.
    var byteCount: Int {
        [bucket, grant, keyPrefix, keySHA256, reason, subject, reasons]
            .reduce(128) { $0 + ($1?.utf8.count ?? 0) }
    }
}

extension LogLine {
    /// Adds a field, if it has a text.
    mutating func field(_ name: String, ifSet text: String?, in output: inout OutputSpan<UInt8>) {
        if let text { field(name, text, in: &output) }
    }
}
