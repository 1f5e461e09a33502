import Metrics

/// What the metrics tell about PostgreSQL as a whole.
struct DatabaseMetrics: Sendable {
    private let primaryChanges: Counter
    private let setbacks: Counter

    init(factory: any MetricsFactory) {
        primaryChanges = Counter(label: "sluice_database_primary_changes_total", dimensions: [], factory: factory)
        setbacks = Counter(label: "sluice_database_setbacks_total", dimensions: [], factory: factory)
    }

    /// Counts that another timeline or system has become the primary.
    func countPrimaryChange() { primaryChanges.increment() }

    /// Counts that the database was seen to have gone back in time.
    func countSetback() { setbacks.increment() }
}
