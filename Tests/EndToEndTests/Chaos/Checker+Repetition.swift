import Foundation

/// A request with an idempotency key takes effect once.
extension Checker {
    /// Reports keys with two effects, with differing answers, or without a final answer.
    func repetitionFlaws() -> [String] {
        var flaws: [String] = []
        // No two requests name the same object, except requests with the same idempotency key.
        var effects: [String: Int] = [:]
        for row in history.ledger where Way.ownObject.contains(row.delivery) { effects[row.key, default: 0] += 1 }
        for (key, count) in effects where count > 1 { flaws.append("\(count) effects of one request, about \(key)") }

        let repeated = Dictionary(grouping: history.asks.filter { $0.repeatKey != nil }) { $0.repeatKey ?? "" }
        for (key, asks) in repeated {
            guard let last = asks.max(by: { $0.to < $1.to }) else { continue }
            if !asks.contains(where: \.isFinal) { flaws.append("\(key) has no final answer, \(last.label)") }
            var names: [Int: Set<Credential.Name>] = [:]
            for ask in asks {
                guard case .items(let items) = ask.reply else { continue }
                for (place, item) in items.enumerated() {
                    if case .given(let credential) = item { names[place, default: []].insert(credential.name) }
                }
            }
            for (place, names) in names where names.count > 1 {
                flaws.append("\(names.count) answers to item \(place) of \(key), \(last.label)")
            }
        }
        return flaws
    }
}

extension Ask {
    /// Whether a client has no reason to send the request again.
    var isFinal: Bool {
        if case .lost = reply { return false }
        return !refusals.contains { $0.status == 503 || $0.code == "IdempotencyKeyInUse" }
    }
}
