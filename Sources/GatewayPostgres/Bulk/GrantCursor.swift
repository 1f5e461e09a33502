import GatewayCore
import LibPQ

/// Reads all grants as they were when the cursor was opened.
///
/// The cursor holds a copy of the rows. A cursor inside an open transaction would let a slow reader keep VACUUM from
/// cleaning up the whole database.
enum GrantCursor {
    static let open = Statement<[String?], Void>(
        """
        DECLARE grant_export CURSOR WITH HOLD FOR
        SELECT \(GrantTable.columns.selected(of: "g")) FROM grants g
        WHERE \(GrantTable.listing.passes) AND \(GrantTable.isInside(GrantTable.listing.nextParameter))
        ORDER BY \(GrantTable.listing.sorting)
        """
    ) { $0.map { $0 as any PostgresValue } }

    static let fetch = Statement<Void, Grant>("FETCH FORWARD 1000 FROM grant_export", onlyReads: true, encode: { [] })
}
