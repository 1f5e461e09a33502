import FoundationEssentials
import GatewayCore
import LibPQ

/// Temporary tables of one session, which prepare a change of many grants before it takes any lock.
enum BulkTables {
    /// Creates the tables.
    ///
    /// `bulk_grants` holds the grants sent, and `bulk_removals` the identifiers of grants to remove. `bulk_live` holds
    /// the live grants that may be affected. `bulk_diff` holds the result: one row for each grant sent or removed, with
    /// the version that it replaces. Operations are `create`, `update` and `delete`, which the audit takes as they are,
    /// `unchanged`, or the reason for a refusal.
    static let make = """
        CREATE TEMP TABLE bulk_grants (
            place integer NOT NULL,
            id uuid,
            revision uuid,
            principal text COLLATE "C" NOT NULL,
            bucket text COLLATE "C" NOT NULL,
            prefix text COLLATE "C" NOT NULL,
            is_template boolean NOT NULL,
            actions text[] NOT NULL,
            effect text NOT NULL,
            conditions jsonb NOT NULL,
            not_before timestamptz,
            not_after timestamptz,
            note text NOT NULL,
            key bytea NOT NULL,
            fingerprint bytea NOT NULL,
            rule bytea NOT NULL
        );
        CREATE TEMP TABLE bulk_removals (place integer NOT NULL, id uuid NOT NULL, revision uuid);
        CREATE TEMP TABLE bulk_live (
            id uuid NOT NULL, change uuid NOT NULL, is_in_scope boolean NOT NULL, key bytea NOT NULL,
            fingerprint bytea NOT NULL, rule bytea NOT NULL
        );
        CREATE TEMP TABLE bulk_diff (
            place integer, removal_place integer, id uuid NOT NULL, old_change uuid, operation text NOT NULL
        );
        """

    /// Empties the tables of results before a new comparison.
    static let clearFindings = "TRUNCATE bulk_live, bulk_diff"

    /// Adds the grants sent.
    static let stage = Statement<[StagedGrant], Void>(
        """
        INSERT INTO bulk_grants (place, id, revision, principal, bucket, prefix, is_template, actions, effect, conditions,
            not_before, not_after, note, key, fingerprint, rule)
        SELECT s.place, s.id, s.revision, s.principal, s.bucket, s.prefix, s.is_template, v.actions, s.effect, v.conditions,
            s.not_before, s.not_after, s.note,
            grant_key(s.principal, s.bucket, s.prefix, s.is_template, s.effect),
            CASE WHEN s.note = '' THEN r.rule ELSE grant_fingerprint(s.principal, s.bucket, s.prefix, s.is_template,
                s.effect, v.actions, v.conditions, s.not_before, s.not_after, s.note) END,
            r.rule
        FROM unnest($1::integer[], $2::uuid[], $3::uuid[], $4::text[], $5::text[], $6::text[], $7::boolean[], $8::text[],
            $9::text[], $10::text[], $11::timestamptz[], $12::timestamptz[], $13::text[])
            AS s (place, id, revision, principal, bucket, prefix, is_template, actions, effect, conditions, not_before,
                not_after, note)
        CROSS JOIN LATERAL (SELECT string_to_array(s.actions, ','), s.conditions::jsonb) AS v (actions, conditions)
        -- Without OFFSET, the digest would be made again wherever it is used.
        CROSS JOIN LATERAL (
            SELECT grant_fingerprint(s.principal, s.bucket, s.prefix, s.is_template, s.effect, v.actions, v.conditions,
                s.not_before, s.not_after, '') AS rule OFFSET 0
        ) r
        """
    ) { rows in
        [
            rows.map { Int32(clamping: $0.proposed.place) }, rows.map { $0.proposed.id },
            rows.map { $0.proposed.revision }, rows.map { $0.grant.principal.rawValue },
            rows.map { $0.grant.bucket.rawValue }, rows.map { $0.grant.prefix.text },
            rows.map { $0.grant.prefix.isTemplate }, rows.map { $0.actions }, rows.map { $0.grant.effect.rawValue },
            rows.map { $0.conditions }, rows.map { $0.grant.notBefore }, rows.map { $0.grant.notAfter },
            rows.map { $0.grant.note },
        ]
    }

    /// Adds identifiers of grants to remove, in order.
    static let stageRemovals = Statement<[GrantRemoval], Void>(
        """
        INSERT INTO bulk_removals (place, id, revision)
        SELECT s.place - 1, s.id, s.revision
        FROM unnest($1::uuid[], $2::uuid[]) WITH ORDINALITY AS s (id, revision, place)
        """
    ) { [$0.map(\.id), $0.map(\.revision)] }
}

/// A grant in the form that ``BulkTables/stage`` takes.
struct StagedGrant: Sendable {
    let proposed: ProposedGrant
    /// Separated by commas, sorted.
    let actions: String
    /// JSON in the form that the table holds.
    let conditions: String

    init(_ proposed: ProposedGrant) throws {
        self.proposed = proposed
        actions = proposed.grant.actions.map(\.rawValue).sorted().joined(separator: ",")
        conditions =
            proposed.grant.conditions == GrantConditions()
            ? "{}" : String(decoding: try JSONEncoder().encode(proposed.grant.conditions), as: UTF8.self)
    }

    var grant: Grant { proposed.grant }
}
