import Metrics

/// What the metrics tell about PostgreSQL as a whole.
struct DatabaseMetrics: Sendable {
    /// Number of times that another timeline or system became the primary.
    let primaryChanges: Counter
    /// Number of times that the database went back in time.
    let setbacks: Counter

    init(factory: any MetricsFactory) {
        primaryChanges = Counter(label: "sluice_database_primary_changes_total", dimensions: [], factory: factory)
        setbacks = Counter(label: "sluice_database_setbacks_total", dimensions: [], factory: factory)
    }
}
