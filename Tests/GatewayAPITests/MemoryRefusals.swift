import Foundation
import GatewayCore
import Synchronization

/// Keeps refusals in an array. Those that `isFull` are dropped.
final class MemoryRefusals: RefusalJournal, RefusalReader {
    let rows = Mutex<[RefusalRecord]>([])
    let isFull = Mutex(false)

    func keep(_ refusal: RefusalRecord) -> Bool {
        guard !isFull.withLock({ $0 }) else { return false }
        rows.withLock { $0.append(refusal) }
        return true
    }

    func refusals(ofRequest id: String, around instant: Date?) async throws(GatewayError) -> KeptRefusals {
        rows.withLock { rows in
            KeptRefusals(
                rows: rows.filter { $0.requestID == id }, keptSince: rows.first?.at,
                droppedNearby: instant == nil ? 7 : 0)
        }
    }
}

extension StubLedgerReader: RequestIssuances {
    func issuances(ofRequest id: String, from: Date, to: Date) async throws(GatewayError) -> [RecordedIssuance] {
        [Self.row("uploads/")]
    }
}
