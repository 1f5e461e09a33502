-- Writes down what a look at the store found of an upload. A confirmation that the upload landed is not overwritten. If
-- the settlement of a quota found that it landed, a later look that finds nothing does not take that back.
--
-- Arguments: the columns of landings with the same names.
-- Result: the row that holds now. Locks: the row. Callers: the gateway's role. Errors: check_violation of the table's
-- constraints.
CREATE OR REPLACE FUNCTION note_landing(
    p_issuance_id uuid, p_finding text, p_mismatches text[], p_source text, p_size bigint, p_etag text,
    p_content_type text
) RETURNS SETOF landings
LANGUAGE plpgsql VOLATILE
AS $$
BEGIN
    INSERT INTO landings AS l (issuance_id, finding, mismatches, source, size, etag, content_type)
    VALUES (p_issuance_id, p_finding, p_mismatches, p_source, p_size, p_etag, p_content_type)
    ON CONFLICT (issuance_id) DO UPDATE
    SET finding = p_finding, mismatches = p_mismatches, source = p_source, size = p_size, etag = p_etag,
        content_type = p_content_type, found_at = clock_timestamp()
    WHERE NOT (l.finding = 'landed' AND (l.source = 'confirmation' OR p_finding = 'absent'));
    RETURN QUERY SELECT l.* FROM landings l WHERE l.issuance_id = p_issuance_id;
END
$$;
