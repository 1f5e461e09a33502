public import LibPQ
public import Testing

/// A database that belongs to one test or suite.
public struct TestDatabase: Sendable {
    /// The cluster of the database.
    public let cluster: TestCluster
    /// Name of the database.
    public let name: String
    /// The connection string of the database.
    public var connectionString: String { cluster.connectionString(database: name) }

    @TaskLocal static var inScope: TestDatabase?

    /// The database of the running test. The test or its suite requested it with ``Testing/Trait/database``.
    public static var current: TestDatabase {
        get throws { try #require(inScope, "the test has no trait .database") }
    }

    /// A configuration for the database, with the test's own session settings.
    public func configuration(
        sessionSettings: [(name: String, value: String)] = []
    ) throws(PostgresError) -> PostgresConfiguration {
        try PostgresConfiguration(
            connectionString: connectionString, applicationName: "tests", sessionSettings: sessionSettings)
    }
}

/// Gives a suite or a test a new database in the cluster of the run.
public struct DatabaseTrait: SuiteTrait, TestTrait, TestScoping {
    let template: DatabaseTemplate?

    /// Makes the database before the test, and drops it afterwards.
    public func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
    ) async throws {
        let cluster = try await TestCluster.shared()
        let database = TestDatabase(cluster: cluster, name: try await cluster.createDatabase(template: template))
        try await TestDatabase.$inScope.withValue(database) { try await function() }
        try await cluster.dropDatabase(database.name)
    }
}

extension Trait where Self == DatabaseTrait {
    /// A new, empty database, as ``TestDatabase/current``: one for the suite, or one for each case of the test.
    public static var database: Self { DatabaseTrait(template: nil) }

    /// A new copy of a template, as ``TestDatabase/current``.
    public static func database(_ template: DatabaseTemplate) -> Self { DatabaseTrait(template: template) }
}
