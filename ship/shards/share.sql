-- What the router and the shards all have.

-- A login role that reads these devices; NULL among them: all. It is made if it is missing.
CREATE OR REPLACE FUNCTION mcp_interposer.share_reader(p_role name, p_devices text[]) RETURNS name
LANGUAGE plpgsql SET search_path = mcp_interposer, pg_temp AS $$
DECLARE
    given text[] := array_remove(p_devices, NULL);
BEGIN
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = p_role) THEN
        EXECUTE format('CREATE ROLE %I LOGIN', p_role);
    END IF;
    IF cardinality(given) < cardinality(p_devices) AND NOT pg_has_role(p_role, 'mcp_interposer_reader', 'USAGE') THEN
        EXECUTE format('GRANT mcp_interposer_reader TO %I', p_role);
    END IF;
    IF cardinality(given) > 0 THEN
        PERFORM add_reader(p_role, given);
    END IF;
    RETURN p_role;
END $$;
REVOKE ALL ON FUNCTION mcp_interposer.share_reader FROM PUBLIC;
