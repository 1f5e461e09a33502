import FoundationEssentials
import GatewayCore
import LibPQ

extension ReservationSweeper {
    /// A reservation that is due.
    struct Reservation: Sendable {
        let issuanceID: UUID
        let quotaID: UUID
        let bucket: String
        let key: String
        /// Seconds since the URL's death, less the grace, the allowed clock difference, and the time that an upload of
        /// this size may take. Negative while the upload may still be under way.
        let overdue: Double
        /// Seconds for which the store could tell what became of it: as ``overdue``, but for a part since its upload
        /// expired, because the upload may have ended only then.
        let waited: Double
        /// When the upload was permitted.
        let permittedAt: Date
        /// When the URL died.
        let deadAt: Date
        /// The part of a multipart upload that the reservation is for. The store cannot be asked for a part by the key.
        let part: Part?

        /// The state of a part's upload.
        enum Part: Sendable {
            /// The upload has not ended.
            case underWay
            /// The upload was completed, with or without the part, or somebody else may have completed it.
            case left(isUnused: Bool)
            /// The store has discarded the upload.
            case discarded(upload: UUID)

            /// The upload that the store has discarded; `nil` if it has not.
            var discardedUpload: UUID? {
                if case .discarded(let upload) = self { upload } else { nil }
            }

            /// Why the part is in no object; `nil` if it may be in one.
            var proof: String? {
                switch self {
                case .underWay, .left(isUnused: false): nil
                case .left(isUnused: true), .discarded: Finding.partLeftOut
                }
            }
        }

        /// Returns what landed: an object that was made during the upload's time, and so may have arrived by it.
        func landing(_ look: StoreLook, tolerance: TimeInterval) -> Finding.Outcome? {
            guard let object = look.object, let modifiedAt = object.modifiedAt,
                modifiedAt >= permittedAt.addingTimeInterval(-tolerance),
                modifiedAt <= deadAt.addingTimeInterval(UploadOverrun.slack)
            else { return nil }
            return .landed(size: object.size)
        }
    }

    /// The result of looking at a reservation.
    struct Finding: Sendable {
        /// The proof used for parts.
        static let partLeftOut = "left-out"

        let reservation: Reservation
        /// Why nothing can have arrived, in the words of the function that settles; `nil` if bytes may have arrived.
        var proof: String?
        /// What probably became of the upload; `nil` if unknown.
        var outcome: Outcome?
        /// Whether asking again cannot tell more.
        var isFinal: Bool

        /// What became of an upload of one object.
        enum Outcome: Sendable {
            case absent
            /// An object arrived, which may be empty.
            case landed(size: Int64)

            /// The size of the object; `nil` if there is none.
            var size: Int64? {
                if case .landed(let size) = self { size } else { nil }
            }
        }
    }

    /// What to take: reservations that are due, but none of some buckets.
    typealias Taking = (grace: Double, most: Int32, clock: LedgerClock, lease: Double, buckets: Set<String>)

    /// Takes reservations that are due, and moves their next look to the end of the lease, so that no other gateway
    /// looks at the same ones meanwhile. Whoever settles or postpones them sets it again.
    static let takeDue = Statement<Taking, Reservation>(
        """
        WITH due AS MATERIALIZED (
            SELECT r.issuance_id, r.quota_id
            FROM reservations r
            WHERE r.check_at < least(statement_timestamp(), $3) - make_interval(secs => $1::float8 + $4)
                AND abs(date_part('epoch', statement_timestamp() - $3)) <= $4 AND r.bucket <> ALL ($6)
            ORDER BY r.check_at
            LIMIT $2
            FOR UPDATE SKIP LOCKED
        ),
        taken AS (
            UPDATE reservations r
            SET check_at = statement_timestamp() - make_interval(secs => $1::float8 + $4 - $5)
            FROM due d
            WHERE r.issuance_id = d.issuance_id AND r.quota_id = d.quota_id
            RETURNING r.issuance_id, r.quota_id, r.bucket, r.object_key, r.amount, r.issued_at, r.dead_at
        )
        SELECT r.issuance_id, r.quota_id, r.bucket, r.object_key,
            date_part('epoch', clock_timestamp() - r.dead_at) - s.overrun,
            date_part('epoch', clock_timestamp() - greatest(r.dead_at, u.expires_at)) - s.overrun,
            r.issued_at, r.dead_at, p.issuance_id IS NOT NULL, u.state IN ('completed', 'aborted'),
            u.may_be_complete OR p.part_number = ANY (u.part_numbers), CASE WHEN u.state = 'aborted' THEN u.id END
        FROM taken r
        CROSS JOIN LATERAL (SELECT $1 + $4 + r.amount / \(UploadOverrun.leastRate)::float8 AS overrun) s
        LEFT JOIN multipart_parts p ON p.issuance_id = r.issuance_id
        LEFT JOIN multipart_uploads u ON u.id = p.upload_id
        """
    ) {
        [$0.grace, $0.most, $0.clock.time, $0.clock.maxDifference, $0.lease, Array($0.buckets)]
    } decode: { row throws(PostgresError) in
        Reservation(
            issuanceID: try row.next(), quotaID: try row.next(), bucket: try row.next(), key: try row.next(),
            overdue: try row.next(), waited: try row.next(), permittedAt: try row.next(), deadAt: try row.next(),
            part: try Reservation.Part(&row))
    }

    static let settle = Statement<(findings: [Finding], delay: Double), Void>(
        "SELECT settle_reservations($1, $2, $3, $4, $5)"
    ) { arguments in
        [
            arguments.findings.map(\.reservation.issuanceID), arguments.findings.map(\.reservation.quotaID),
            arguments.findings.map(\.proof), arguments.findings.map(\.isFinal), arguments.delay,
        ]
    }
}

extension ReservationSweeper.Reservation.Part {
    /// Reads four columns: whether there is a part, whether its upload has ended, whether the completed upload lists it
    /// or may do so, and the upload if it was aborted.
    fileprivate init?(_ row: inout PostgresRow) throws(PostgresError) {
        let isPart: Bool = try row.next()
        let hasEnded = try row.next(as: Bool?.self) ?? false
        let isListed = try row.next(as: Bool?.self) ?? true
        let aborted = try row.next(as: UUID?.self)
        guard isPart else { return nil }
        guard hasEnded else {
            self = .underWay
            return
        }
        if let aborted, !isListed {
            self = .discarded(upload: aborted)
        } else {
            self = .left(isUnused: !isListed)
        }
    }
}
