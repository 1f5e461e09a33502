import LibPQ
import PostgresTesting
import Testing

/// A build that is broken on purpose. Each case removes, from functions of the test's own database, a piece on which
/// promises rest.
enum Sabotage: String, CaseIterable, Sendable, CustomTestStringConvertible {
    case lock = "recording without the lock"
    case proof = "recording without the proof, at gateways that nobody tells"
    case room = "charging without looking whether there is room"
    case counting = "recording without charging"
    case row = "now and then no row"
    case commit = "answers before the commit is on disk"
    case once = "idempotency keys without a claim and a row lock"

    var testDescription: String { rawValue }

    /// A piece of a function, and its replacement. The piece must occur exactly once.
    private struct Cut {
        /// The function that contains the piece; `nil` for the one function that has it.
        var function: String?
        var piece: String
        var replacement = ""
    }

    private var cuts: [Cut] {
        let lock = "v_lock := pg_advisory_xact_lock_shared(advisory_lock('policy'));"
        let writing = "INSERT INTO issuances ("
        let recording = ["record_issuance", "record_issuances"]
        switch self {
        case .lock:
            return recording.flatMap { function in
                [
                    Cut(function: function, piece: lock),
                    // A delay between steps that the lock would have kept apart.
                    Cut(function: function, piece: writing, replacement: "PERFORM pg_sleep(0.002); " + writing),
                ]
            }
        case .proof:
            return recording.map {
                Cut(function: $0, piece: "IF v_is_latest IS NOT TRUE THEN", replacement: "IF false THEN")
            } + [Cut(piece: "PERFORM pg_notify('sluice_policy', v_seq::text);")]
        case .room:
            return [
                Cut(function: "record_issuance", piece: "AND u.used <= p_limit - p_amount"),
                Cut(function: "record_issuances", piece: "WHERE u.used <= v_limit - excluded.used"),
                Cut(
                    function: "record_issuances", piece: "IF p_charge_amounts[c] > v_room THEN",
                    replacement: "IF false THEN"),
            ]
        case .counting:
            return [
                Cut(
                    function: "record_issuance", piece: "SET used = u.used + p_amount", replacement: "SET used = u.used"
                )
            ]
        case .row:
            return recording.map {
                Cut(
                    function: $0, piece: writing,
                    replacement: "IF random() < 0.05 THEN RETURN\(Self.success($0)); END IF; " + writing)
            }
        case .commit:
            return recording.map {
                Cut(
                    function: $0, piece: lock,
                    replacement: "PERFORM set_config('synchronous_commit', 'off', true); \(lock)")
            }
        case .once:
            return [
                Cut(
                    function: "claim_idempotency_key", piece: "ELSIF v_left > interval '0' THEN",
                    replacement: "ELSIF false THEN"),
                Cut(
                    function: "record_issuances_once", piece: "WHERE k.id = p_key_id FOR UPDATE;",
                    replacement: "WHERE k.id = p_key_id; PERFORM pg_sleep(0.002);"),
                Cut(
                    function: "record_issuances_once", piece: "IF v_attempt IS DISTINCT FROM p_attempt THEN",
                    replacement: "IF false THEN"),
            ]
        }
    }

    private static func success(_ function: String) -> String {
        function == "record_issuance" ? " ARRAY[0, v_used, v_resets_in]" : ""
    }

    /// Whether a violation is what this sabotage causes.
    func isProved(by violation: Checker.Violation) -> Bool {
        let (rule, text): (Checker.Rule, String) =
            switch self {
            case .lock: (.permitted, "later than the revoke of its grant")
            case .proof: (.permitted, "issued without")
            case .room: (.counted, "at the most")
            case .counting: (.counted, "the ledger says")
            case .row, .commit: (.recorded, "0 rows for")
            case .once: (.once, "")
            }
        return violation.rule == rule && (text.isEmpty || violation.text.contains(text))
    }

    /// Applies the sabotage at a site.
    func apply(at site: Deployment) async throws {
        let session = try site.session()
        for cut in cuts {
            let place = cut.function.map { "proname = '\($0)'" } ?? "strpos(prosrc, $piece$\(cut.piece)$piece$) > 0"
            let found = try await session.texts("SELECT pg_get_functiondef(oid) FROM pg_proc WHERE \(place)")
            try #require(found.count == 1 && found[0].ranges(of: cut.piece).count == 1, "\(cut)")
            try await session.runScript(found[0].replacing(cut.piece, with: cut.replacement))
        }
        await session.close()
    }
}
