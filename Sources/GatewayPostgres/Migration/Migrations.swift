/// One step of the schema, carried inside the program.
struct Migration: Sendable {
    /// Number in the file's name; numbers have no gaps and begin at 1.
    let version: Int32
    /// The file's name without number and extension, for example `create_policy`.
    let name: String
    /// The file.
    let sql: [UInt8]

    /// All migrations, in order; a new file under `sql/migrations` gets its line here.
    static let all = [
        Migration(version: 1, name: "create_policy", sql: PackageResources._001_create_policy_sql),
        Migration(version: 2, name: "create_ledger", sql: PackageResources._002_create_ledger_sql),
        Migration(version: 3, name: "create_gateway_role", sql: PackageResources._003_create_gateway_role_sql),
        Migration(version: 4, name: "create_recording", sql: PackageResources._004_create_recording_sql),
        Migration(version: 5, name: "create_settling", sql: PackageResources._005_create_settling_sql),
        Migration(version: 6, name: "loosen_grants", sql: PackageResources._006_loosen_grants_sql),
        Migration(version: 7, name: "create_tickets", sql: PackageResources._007_create_tickets_sql),
        Migration(
            version: 8, name: "add_schemes_and_deliveries",
            sql: PackageResources._008_add_schemes_and_deliveries_sql),
        Migration(
            version: 9, name: "create_multipart_uploads", sql: PackageResources._009_create_multipart_uploads_sql),
        Migration(version: 10, name: "create_sessions", sql: PackageResources._010_create_sessions_sql),
        Migration(
            version: 11, name: "create_remote_uploads", sql: PackageResources._011_create_remote_uploads_sql),
        Migration(version: 12, name: "version_policy", sql: PackageResources._012_version_policy_sql),
    ]
}
