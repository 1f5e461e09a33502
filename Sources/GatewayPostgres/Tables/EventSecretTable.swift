import FoundationEssentials
import GatewayCore
import LibPQ

/// The table `event_secrets`.
enum EventSecretTable {
    /// The columns, in the order in which ``EventSecret/init(_:)`` reads them.
    private static let columns = "s.bucket, s.name, s.hash, s.created_at, s.previous_until"

    static let named = Statement<String, (bucket: BucketName, hash: [UInt8])>(
        """
        SELECT s.bucket, s.hash FROM event_secrets s WHERE s.name = $1
        UNION ALL
        SELECT s.bucket, s.previous_hash FROM event_secrets s
        WHERE s.previous_name = $1 AND s.previous_until > clock_timestamp()
        """, onlyReads: true
    ) {
        [$0]
    } decode: { row throws(PostgresError) in
        (try row.nextParsed(BucketName.init(_:)), try row.next())
    }

    static let rotate = Statement<(secret: EventSecret, overlap: Int32), EventSecret>(
        """
        INSERT INTO event_secrets AS s (bucket, name, hash)
        SELECT b.name, $2, $3 FROM buckets b WHERE b.name = $1
        ON CONFLICT (bucket) DO UPDATE
        SET name = $2, hash = $3, created_at = clock_timestamp(),
            previous_name = CASE WHEN $4 > 0 THEN s.name END, previous_hash = CASE WHEN $4 > 0 THEN s.hash END,
            previous_until = CASE WHEN $4 > 0 THEN clock_timestamp() + make_interval(secs => $4) END
        RETURNING \(columns)
        """
    ) {
        [$0.secret.bucket.rawValue, $0.secret.name, $0.secret.hash, $0.overlap]
    }

    static let ofBucket = Statement<BucketName, EventSecret>(
        "SELECT \(columns) FROM event_secrets s WHERE s.bucket = $1", onlyReads: true
    ) {
        [$0.rawValue]
    }

    static let remove = Statement<BucketName, String>(
        "DELETE FROM event_secrets s WHERE s.bucket = $1 RETURNING s.name"
    ) {
        [$0.rawValue]
    }
}

extension EventSecret: RowReadable {
    /// Reads the columns of ``EventSecretTable``.
    init(_ row: inout PostgresRow) throws(PostgresError) {
        self.init(
            bucket: try row.nextParsed(BucketName.init(_:)), name: try row.next(), hash: try row.next(),
            createdAt: try row.next(), previousUntil: try row.next())
    }
}
