import FoundationEssentials
import GatewayCore
import StoreQualification
import Terminal

/// The report of `sluice qualify`.
enum QualificationText {
    /// A table for people: one line for each promise, then the checks that are worth a look.
    ///
    /// - Parameter all: Whether to show the checks that are kept, too.
    static func table(_ report: QualificationReport, all: Bool) -> String {
        var lines: [[String]] = [["PROMISE", "VERDICT", "CHECKS"]]
        for promise in StorePromise.allCases {
            guard let verdict = report.verdict(on: promise) else { continue }
            let checks = report.judgements.filter { $0.promise == promise }
            let kept = checks.count { $0.verdict == .kept }
            lines.append([promise.rawValue, verdict.rawValue, "\(kept) of \(checks.count) kept"])
        }
        var text = TextGrid.text(lines)
        let shown = report.judgements.filter { all || $0.verdict != .kept }
        if !shown.isEmpty {
            let rows = shown.map { judgement in
                [
                    judgement.verdict.rawValue, judgement.scheme.rawValue, judgement.delivery.rawValue,
                    judgement.promise.rawValue, judgement.check, judgement.detail.visible,
                ]
            }
            text += "\n" + TextGrid.text([["VERDICT", "SCHEME", "DELIVERY", "PROMISE", "CHECK", "ANSWER"]] + rows)
        }
        text += "\n\(report.requests) requests below \(report.prefix)."
        if report.isBroken { text += " This store does not keep all promises." + advice(report) }
        if report.isCutShort {
            text += "\nNot all checks were made: the time of '--patience' was up, or the command was interrupted."
        }
        if report.isInconclusive {
            text +=
                "\nNot all checks were concluded: no answer came, the store was too busy or in trouble, or something "
                + "that a check needs failed. Run the command again when that is over."
        }
        for left in report.leftBehind { text += "\nLeft behind: \(left)" }
        return text
    }

    /// What helps against what is broken.
    private static func advice(_ report: QualificationReport) -> String {
        let broken = report.judgements.filter { $0.verdict == .broken && $0.delivery == .presignedURL }
        let isOpen = broken.contains { judgement in
            judgement.scheme == .awsV4 && !QualificationReport.unsignedTimes.contains(judgement.check)
                && (judgement.promise == .nothingMore || judgement.check.contains("SHA-256"))
        }
        var text = ""
        if isOpen {
            text +=
                "\nSet honoursUnsignedHeaders of the bucket if it is not set: upload links by aws-v4 then bind more "
                + "headers, and need checksumSHA256 and a length. Temporary credentials and remote signing by aws-v4 "
                + "then upload no more."
        }
        if broken.contains(where: { QualificationReport.unsignedTimes.contains($0.check) }) {
            text += "\nSet externalDeletions of the bucket: missing and old objects then give no reserved bytes back."
        }
        return text
    }

    /// The report as JSON.
    static func json(_ report: QualificationReport, of bucket: Bucket) -> String {
        let value = Told(
            bucket: bucket.name.rawValue, prefix: report.prefix, requests: report.requests,
            isBroken: report.isBroken, isCutShort: report.isCutShort, isInconclusive: report.isInconclusive,
            leftBehind: report.leftBehind,
            promises: Dictionary(
                uniqueKeysWithValues: StorePromise.allCases.compactMap { promise in
                    report.verdict(on: promise).map { (promise.rawValue, $0.rawValue) }
                }),
            checks: report.judgements.map { judgement in
                Told.Check(
                    scheme: judgement.scheme.rawValue, delivery: judgement.delivery.rawValue,
                    promise: judgement.promise.rawValue, check: judgement.check, verdict: judgement.verdict.rawValue,
                    detail: judgement.detail)
            })
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        return (try? encoder.encode(value)).map { String(decoding: $0, as: UTF8.self).visibleJSON } ?? ""
    }

    private struct Told: Encodable {
        struct Check: Encodable {
            var scheme: String
            var delivery: String
            var promise: String
            var check: String
            var verdict: String
            var detail: String
        }

        var bucket: String
        var prefix: String
        var requests: Int
        var isBroken: Bool
        var isCutShort: Bool
        var isInconclusive: Bool
        var leftBehind: [String]
        var promises: [String: String]
        var checks: [Check]
    }
}
