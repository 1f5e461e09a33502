import Foundation

/// Answers: every request gets one, in a documented form and in time.
extension Checker {
    /// Reports requests that a running gateway did not answer, late answers, and undocumented answers.
    func answerFlaws() -> [String] {
        var flaws = history.incidents.filter { $0.kind == .ended }
            .map { "gateway \($0.gateway).\($0.life) ended by itself" }
        for ask in history.asks {
            flaws += lossFlaws(ask)
            flaws += lateness(ask)
            flaws += ask.refusals.compactMap { flaw($0, ask) }
        }
        return flaws
    }

    private func lossFlaws(_ ask: Ask) -> [String] {
        guard case .lost(let reason) = ask.reply else { return [] }
        let isExcused = history.incidents.contains {
            $0.kind == .killed && $0.gateway == ask.gateway && $0.life == ask.life && $0.from <= ask.to
        }
        return isExcused ? [] : ["no answer (\(reason)) although the gateway ran, \(ask.label)"]
    }

    private func lateness(_ ask: Ask) -> [String] {
        // The time during which a gateway was stopped does not count.
        let stopped = history.incidents.filter {
            $0.kind == .stopped && $0.gateway == ask.gateway && $0.life == ask.life
        }
        .map { max(0, min($0.to, ask.to) - max($0.from, ask.from)) }.reduce(0, +)
        let took = ask.to - ask.from - stopped
        guard took > history.deadline + Self.slack else { return [] }
        return [String(format: "an answer took %.1f s of the gateway's time, ", took) + ask.label]
    }

    private func flaw(_ refusal: Refusal, _ ask: Ask) -> String? {
        let isKnown =
            switch (refusal.status, refusal.code) {
            case (401, _), (403, "AccessDenied"), (403, "ConditionFailed"): true
            case (429, "QuotaExceeded"): refusal.retryAfter ?? 1 >= 1
            case (409, "IdempotencyKeyInUse"): ask.repeatKey != nil && refusal.retryAfter ?? 0 >= 1
            case (409, "IdempotentAnswerGone"):
                ask.repeatKey != nil && (ask.way == .bySession || bucketChangedSinceFirstAttempt(ask))
            case (503, _): refusal.retryAfter ?? 0 >= 1 || ask.way == .inBatches || ask.way == .byPart
            default: false
            }
        return isKnown ? nil : "\(refusal) is no answer to \(ask.label)"
    }

    /// Whether the bucket may have been changed after the first request with the key of this one.
    private func bucketChangedSinceFirstAttempt(_ ask: Ask) -> Bool {
        let begin = history.asks.filter { $0.repeatKey == ask.repeatKey }.map(\.from).min() ?? ask.from
        return timelines[.redirects(ask.bucket)]?.changes.contains { $0.to > begin && $0.from <= ask.to } ?? false
    }

    /// Reports gateways that did not serve again in time.
    func revivalFlaws() -> [String] {
        history.revivals.compactMap { revival in
            guard let seconds = revival.seconds else { return "gateway \(revival.gateway) does not serve again" }
            guard seconds > Self.patience else { return nil }
            return String(format: "gateway %d took %.1f s to serve again", revival.gateway, seconds)
        }
    }
}
