import Logging

/// What a store told about reservations.
typealias SettlingAnswer = StoreAnswer<ReservationSweeper.Finding>

/// A round of settling.
typealias SettlingRound = StoreRound<ReservationSweeper.Finding>

extension StoreRound where Finding == ReservationSweeper.Finding {
    /// Ends a batch; returns what is known about its reservations.
    ///
    /// One about which its store tells nothing is given up only if the store told something about another: else the
    /// store may be down, or the gateway's credential be refused, for longer than anybody expects.
    mutating func endBatch() -> [ReservationSweeper.Finding] {
        var findings: [ReservationSweeper.Finding] = []
        for (bucket, batch) in closeBatch() {
            var givenUp = 0
            for answer in batch.answers {
                for var finding in answer.findings {
                    if answer.failure != nil {
                        finding.isFinal = finding.isFinal && batch.isTelling
                        givenUp += finding.isFinal ? 1 : 0
                    }
                    findings.append(finding)
                }
            }
            if givenUp > 0 {
                logger.warning(
                    "reserved bytes stay counted, because the store told nothing about the uploads in time",
                    metadata: ["bucket": "\(bucket)", "count": "\(givenUp)"])
            }
        }
        return findings
    }
}
