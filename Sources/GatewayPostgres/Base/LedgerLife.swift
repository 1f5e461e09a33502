import GatewayCore

/// How long what the ledger records can live, for statements that need not read older rows.
enum LedgerLife {
    /// ``LedgerRange/longestLife`` in SQL.
    static let longest = "interval '\(Int(LedgerRange.longestLife / LedgerRange.day)) days'"
}
