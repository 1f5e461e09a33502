import Synchronization
public import Testing

/// How often each operation has answered with each status.
private let seen = Mutex<[String: Int]>([:])

/// Records an issue for each deviation of an exchange from the contract.
///
/// - Parameter most: Largest number of exchanges to check with the same method, target and status; `nil` for all.
public func expectContractKept(
    _ exchange: Exchange, atMost most: Int? = nil, sourceLocation: SourceLocation = #_sourceLocation
) {
    if let most {
        let count = seen.withLock { seen in
            seen["\(exchange.method) \(exchange.target) \(exchange.status)", default: 0] += 1
            return seen["\(exchange.method) \(exchange.target) \(exchange.status)"] ?? 0
        }
        guard count <= most else { return }
    }
    do {
        for flaw in try ContractDocument.shared.get().flaws(of: exchange) {
            Issue.record("\(flaw)", sourceLocation: sourceLocation)
        }
    } catch {
        Issue.record(error, "the contract cannot be read", sourceLocation: sourceLocation)
    }
}
