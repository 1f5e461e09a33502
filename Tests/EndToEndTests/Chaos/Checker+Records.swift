import Foundation

/// Promise 1: no record, no credential.
extension Checker {
    /// Reports credentials that do not have exactly one ledger row, or whose row says something else.
    func recordFlaws() -> [String] {
        var flaws: [String] = []
        for ask in history.asks {
            guard case .items(let items) = ask.reply else { continue }
            for (key, item) in zip(ask.keys, items) {
                guard case .given(let credential) = item else { continue }
                let found = rows[credential.name] ?? []
                guard found.count == 1, let row = found.first else {
                    flaws.append("\(found.count) rows for \(credential.name), \(ask.label)")
                    continue
                }
                flaws += misfits(row, credential, of: ask, key: key).map { "\($0) of \(row.id), \(ask.label)" }
            }
        }
        return flaws
    }

    private func misfits(_ row: LedgerRow, _ credential: Credential, of ask: Ask, key: String) -> [String] {
        var misfits: [String] = []
        func compare(_ what: String, _ recorded: String, _ received: String) {
            if recorded != received { misfits.append("\(what) \(recorded) in place of \(received)") }
        }
        compare("principal", row.principal, ask.principal)
        compare("delivery", row.delivery, ask.way.delivery)
        compare("bucket", row.bucket, ask.bucket)
        compare("key", row.key, key)
        compare("method", row.method, ask.method)
        compare("end", "\(row.expiresAt)", "\(credential.expiresAt)")
        if let path = credential.path { compare("path", "/\(row.bucket)/\(row.key)", path) }
        return misfits
    }
}
