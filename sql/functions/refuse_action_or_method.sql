-- Refuses an issuance whose action or method its delivery may not have, for the functions that record. Sessions and
-- cookies may permit several actions, and sessions bind no method; the domains of the two columns admit such values for
-- all, since a domain sees one column.
--
--   p_delivery  what was to be recorded
--   p_method    its method: where there is none, the constraint that is named is that of methods, else that of actions
-- Result: none; it always raises. Locks: none. Callers: record_issuance, record_issuances.
-- Errors: check_violation of issuance_action_check or issuance_method_check, as if the domain had refused the value.
CREATE OR REPLACE FUNCTION refuse_action_or_method(p_delivery text, p_method text) RETURNS void
LANGUAGE plpgsql VOLATILE
AS $$
BEGIN
    IF p_method = '*' THEN
        RAISE EXCEPTION 'delivery % binds no method', p_delivery
            USING ERRCODE = 'check_violation', CONSTRAINT = 'issuance_method_check', DATATYPE = 'issuance_method';
    END IF;
    RAISE EXCEPTION 'delivery % permits several actions', p_delivery
        USING ERRCODE = 'check_violation', CONSTRAINT = 'issuance_action_check', DATATYPE = 'issuance_action';
END
$$;
