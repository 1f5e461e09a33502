import FoundationEssentials
import GatewayCore
import LibPQ

/// The statement that writes the table `store_events`.
enum StoreEventTable {
    /// Records objects in order, so that two messages about the same objects cannot deadlock.
    static let insert = Statement<(bucket: BucketName, objects: [MadeObject]), Int64>(
        """
        WITH noted AS (
            INSERT INTO store_events (bucket, object_key, made_at, size, etag, callback_id)
            SELECT DISTINCT ON (e.object_key COLLATE "C", e.made_at)
                $1, e.object_key, e.made_at, e.size, e.etag, e.callback_id
            FROM unnest($2::text[], $3::timestamptz[], $4::bigint[], $5::text[], $6::text[])
                AS e (object_key, made_at, size, etag, callback_id)
            ORDER BY e.object_key COLLATE "C", e.made_at
            ON CONFLICT DO NOTHING
            RETURNING 1
        )
        SELECT count(*) FROM noted
        """
    ) {
        [
            $0.bucket.rawValue, $0.objects.map(\.key.rawValue), $0.objects.map(\.madeAt), $0.objects.map(\.size),
            $0.objects.map(\.etag), $0.objects.map(\.callbackID),
        ]
    }
}
