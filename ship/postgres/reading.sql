-- What readers of the central store use, besides the tables. All of it has the rights of its reader, so that row-level
-- security applies. Functions are called read_*, and return rows: when the store has several shards, the rows of all of
-- them are put together, and sorted and limited again by the caller.

-- ---- rights ----

DO $$
DECLARE
    f regprocedure;
BEGIN
    FOR f IN SELECT p.oid::regprocedure FROM pg_proc p
            WHERE p.pronamespace = 'mcp_interposer'::regnamespace AND p.proname LIKE 'read\_%' LOOP
        EXECUTE format('REVOKE ALL ON FUNCTION %s FROM PUBLIC', f);
        EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO mcp_interposer_reader', f);
    END LOOP;
END $$;
