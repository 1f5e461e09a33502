/// The advisory locks, by name. This is the only Swift file with their keys. In SQL, only
/// `sql/functions/advisory_lock.sql` has the keys of the locks that functions take. A test compares the two.
enum AdvisoryLock: String, CaseIterable, Sendable {
    /// Proves decisions: recordings share it; a change of policy and a migration take it exclusively.
    case policy
    /// Lets one session at a time add days to the ledger.
    case partitions
    /// Lets one migrator run at a time.
    case migration
    /// Lets one session at a time sum up the ledger, or remove days from it.
    case sums
    /// Lets one session at a time prune the policy log.
    case pruning
    /// Lets one session at a time build indexes of days that are over.
    case indexing
    /// Lets one transaction after another add templates for one principal, `$1`, and one bucket, `$2`.
    case templatesForOne
    /// Shared by transactions that add a few templates. Transactions that add many, for many principals and buckets,
    /// take it exclusively.
    case templates
    /// Lets one issuer after another be created or changed.
    case issuers
    /// Lets one transaction after another add tickets for one principal, `$1`.
    case tickets
    /// Lets one import of grants run at a time.
    case imports
    /// Shows whether locks exclude each other at all. `$1`, not negative, sets one trial apart from others.
    case trial

    /// The arguments for `pg_advisory_xact_lock` and its relatives: one number, or a pair. A pair never equals a single
    /// number.
    var key: String {
        switch self {
        case .policy: "7310868744"
        case .partitions: "7310868745"
        case .migration: "7310868746"
        case .sums: "7310868747"
        case .pruning: "7310868748"
        case .indexing: "7310868749"
        case .templatesForOne: "1936485475, hashtext($2 || ' ' || $1)"
        case .templates: "1936485476, 0"
        case .imports: "1936485477, 0"
        case .issuers: "1936485478, 0"
        case .tickets: "1936485480, hashtext($1)"
        case .trial: "1936485479::bigint << 32 | $1"
        }
    }
}
