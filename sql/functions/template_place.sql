-- Whether a template may cover a place, and whether it may cover something below it, for some identity.
--
-- Segments are compared one by one; a variable fits each segment that its value may be. It is not known whether some
-- caller has these values, and a variable that is repeated is not compared with itself.
--
--   p_template  the template of a grant
--   p_place     a key, or a prefix: empty, or ending in /
-- Result: 'covers', 'below' or NULL. Locks: none. Callers: the gateway's role; covering_prefixes. Errors: none.
CREATE OR REPLACE FUNCTION template_place(p_template text, p_place text) RETURNS text
LANGUAGE plpgsql IMMUTABLE
AS $$
DECLARE
    v_template text[] := string_to_array(p_template, '/');
    v_place text[] := string_to_array(p_place, '/');
    v_is_wide boolean := p_template LIKE '%/';
    v_is_prefix boolean := p_place = '' OR p_place LIKE '%/';
    v_template_count integer := cardinality(v_template) - v_is_wide::integer;
    v_place_count integer := CASE WHEN p_place = '' THEN 0 ELSE cardinality(v_place) - v_is_prefix::integer END;
BEGIN
    FOR i IN 1 .. least(v_template_count, v_place_count) LOOP
        IF v_template[i] LIKE '${%}' THEN
            IF v_place[i] ~ '[/\\*?$%[:cntrl:]]' THEN
                RETURN NULL;
            END IF;
        ELSIF v_template[i] <> v_place[i] THEN
            RETURN NULL;
        END IF;
    END LOOP;
    IF v_template_count > v_place_count THEN
        RETURN CASE WHEN v_is_prefix THEN 'below' END;
    END IF;
    IF v_is_wide THEN
        RETURN CASE WHEN v_template_count < v_place_count OR v_is_prefix THEN 'covers' END;
    END IF;
    RETURN CASE WHEN v_template_count = v_place_count AND NOT v_is_prefix THEN 'covers' END;
END
$$;
