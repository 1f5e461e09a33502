import Foundation
import GatewayCore
import LibPQ

/// Statements about buckets.
enum BucketStatements {
    private static let columns = WrittenColumns(
        "name", "provider", "endpoint", "region", "addressing", "scheme", "credential_id", "default_ttl", "max_ttl",
        "allows_unenforced_size", "allows_redirects", "external_deletions",
        "allowed_origins", "max_session_ttl", "honours_unsigned_headers", "callback", "callback_var")

    private static func values(of bucket: Bucket) -> [any PostgresValue] {
        [
            bucket.name.rawValue, bucket.provider.rawValue, bucket.endpoint, bucket.region, bucket.addressing.rawValue,
            bucket.scheme.rawValue, bucket.credentialID, Int32(clamping: bucket.defaultTTL),
            Int32(clamping: bucket.maxTTL), bucket.allowsUnenforcedSize, bucket.allowsRedirects,
            bucket.externalDeletions, bucket.allowedOrigins, Int32(clamping: bucket.maxSessionTTL),
            bucket.honoursUnsignedHeaders, bucket.callback, bucket.callbackVar,
        ]
    }

    static let insert = Statement<Bucket, Void>("INSERT INTO buckets \(columns.insertion)", encode: values)

    static let update = Statement<Bucket, Void>("UPDATE buckets \(columns.assignment)", encode: values)

    static let read = AdminStatements.read(
        "b.revision", Bucket.columns, from: "buckets b WHERE b.name = $1"
    ) { row, first throws(PostgresError) in try Bucket(row, from: first) }

    static let page = Statement<PageRequest, Bucket>(
        """
        SELECT \(Bucket.columns) FROM buckets b
        WHERE ($1::text IS NULL OR b.provider = $1) AND ($2::text IS NULL OR b.credential_id = $2::text::uuid)
            AND ($3::text IS NULL OR b.scheme = $3) AND ($4::text IS NULL OR b.name > $4)
        ORDER BY b.name LIMIT $5
        """, onlyReads: true
    ) {
        $0.parameters
    } decode: { row throws(PostgresError) in
        try Bucket(row, from: 0)
    }

    static let lock = AdminStatements.lock(
        scope: "'bucket:' || b.name", revision: "b.revision", from: "buckets b WHERE b.name = $1")

    /// A statement of its own, so that it sees the grants of those who had the row locked before.
    static let hasLiveGrants = Statement<String, Bool>(
        "SELECT EXISTS (SELECT FROM grants g WHERE g.bucket = $1 AND g.removed_at IS NULL)"
    ) {
        [$0]
    } decode: { row throws(PostgresError) in
        try row.decode(0)
    }

    static let delete = Statement<String, Void>("DELETE FROM buckets b WHERE b.name = $1") { [$0] }

    static let document = AdminStatements.document(
        """
        'name', r.name, 'provider', r.provider, 'endpoint', r.endpoint, 'region', r.region,
        'addressing', r.addressing, 'scheme', r.scheme, 'credentialID', r.credential_id, 'defaultTTL', r.default_ttl,
        'maxTTL', r.max_ttl, 'allowsUnenforcedSize', r.allows_unenforced_size,
        'allowsRedirects', r.allows_redirects, 'externalDeletions', r.external_deletions, 'allowedOrigins', r.allowed_origins,
        'maxSessionTTL', r.max_session_ttl, 'honoursUnsignedHeaders', r.honours_unsigned_headers,
        'callback', r.callback, 'callbackVar', r.callback_var, 'createdAt', r.created_at
        """,
        from: "buckets r WHERE r.name = $1")
}

extension AdminTable<Bucket> {
    static var buckets: Self {
        AdminTable(
            kind: .bucket, filters: [.text("provider"), .uuid("credentialID"), .text("scheme")],
            order: [.text("name")],
            position: { [$0.name.rawValue] }, identifier: { $0.name.rawValue },
            isIdentifier: { (try? BucketName($0)) != nil },
            referenceConflict:
                "The credential does not exist or is not of the kind that the scheme signs with, or a quota is for the bucket.",
            insert: { bucket, transaction in try transaction.perform(BucketStatements.insert, bucket) },
            read: BucketStatements.read, page: BucketStatements.page, lockRow: BucketStatements.lock,
            update: { change, transaction in try transaction.perform(BucketStatements.update, change.row) },
            delete: { removal, transaction in
                guard try transaction.execute(BucketStatements.hasLiveGrants, removal.id).first == false else {
                    throw GatewayError.conflict(reason: "There are grants on the bucket.")
                }
                try transaction.perform(BucketStatements.delete, removal.id)
            }, document: BucketStatements.document)
    }
}
