-- Refuses what only a session may record, for the functions that record. A session permits several actions, or binds no
-- method; the domains of the two columns admit both values, since a domain sees one column.
--
--   p_delivery  what was to be recorded
--   p_action    its actions: the constraint that is named is that of actions where there are several, else that of
--               methods
-- Result: none; it always raises. Locks: none. Callers: record_issuance, record_issuances.
-- Errors: check_violation of issuance_action_check or issuance_method_check, as if the domain had refused the value.
CREATE OR REPLACE FUNCTION refuse_session_values(p_delivery text, p_action text) RETURNS void
LANGUAGE plpgsql VOLATILE
AS $$
BEGIN
    IF strpos(p_action, ',') > 0 THEN
        RAISE EXCEPTION 'delivery % permits several actions', p_delivery
            USING ERRCODE = 'check_violation', CONSTRAINT = 'issuance_action_check', DATATYPE = 'issuance_action';
    END IF;
    RAISE EXCEPTION 'delivery % binds no method', p_delivery
        USING ERRCODE = 'check_violation', CONSTRAINT = 'issuance_method_check', DATATYPE = 'issuance_method';
END
$$;
