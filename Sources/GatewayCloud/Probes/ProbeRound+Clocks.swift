import FoundationEssentials
import GatewayCore
import LibCurl
import Signing

extension ProbeRound {
    /// Compares the time that the store notes for the object with the time at which the object was written. Answers may
    /// have the `Date` of a proxy, but objects have times by the store's own clock, and settling judges by these.
    mutating func compareWriteTime(
        _ answer: HTTPTransfer.Answer?, between sentAt: Date, and answeredAt: Date
    ) {
        let difference = answer?.clockDifference(by: "last-modified", between: sentAt, and: answeredAt)
        guard let difference else { return skip(.writeTime) }
        let isClose = difference <= probe.maxClockDifference
        validation.findings.append(
            BucketValidation.Finding(
                step: .writeTime, outcome: isClose ? .passed : .warned, failure: isClose ? nil : .clockDifference))
    }

    mutating func noteClock(_ answer: HTTPTransfer.Answer, _ sent: Date) {
        guard validation.clockDifference == nil,
            let date = answer.field("date").flatMap({ SigningInstant(httpDate: $0) })
        else { return }
        // Dates have whole seconds, and the store wrote the answer between the two instants.
        let middle = sent.timeIntervalSince1970 / 2 + probe.now().timeIntervalSince1970 / 2
        validation.clockDifference = Int((Double(date.epochSeconds) + 0.5 - middle).rounded())
    }

    /// What the store's answers say about its clock.
    mutating func compareClocks() {
        guard let difference = validation.clockDifference else { return skip(.clock) }
        let distance = abs(difference)
        validation.findings.append(
            BucketValidation.Finding(
                step: .clock, outcome: distance <= 30 ? .passed : distance <= 300 ? .warned : .failed,
                failure: distance <= 30 ? nil : .clockDifference))
    }
}
