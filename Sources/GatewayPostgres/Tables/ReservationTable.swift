import GatewayCore

/// The table `reservations`, which holds the bytes that uploads have reserved of quotas.
enum ReservationTable {
    /// All reservations as rows `r`, with the time at which each is due. By then the store can tell what arrived: an
    /// upload in parts has ended or expired, and one of this size has had its time.
    static let byDueTime = """
        (
            SELECT r.amount, CASE WHEN u.state IN ('completed', 'aborted') THEN r.dead_at
                    ELSE greatest(r.dead_at, u.expires_at) END
                + make_interval(secs => \(UploadOverrun.slack) + r.amount / \(UploadOverrun.leastRate)::float8) AS due_at
            FROM reservations r
            LEFT JOIN multipart_parts p ON p.issuance_id = r.issuance_id
            LEFT JOIN multipart_uploads u ON u.id = p.upload_id
        ) r
        """
}
