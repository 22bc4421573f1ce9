-- What readers of the central store use, besides the tables. All of it has the rights of its reader, so that row-level
-- security applies. Functions are called read_*, and return rows: when the store has several shards, the rows of all of
-- them are put together, and sorted and limited again by the caller.

-- Messages of these sessions whose words match, newest first. p_query: text of a tsquery. The words are those of the
-- first 256 KiB of a body, and only their first 64 bytes: the caller compares the bodies. One statement that the planner
-- can merge into the caller's, so that it uses the index and knows the partitions.
CREATE OR REPLACE FUNCTION read_search(p_from text, p_to text, p_query text)
RETURNS TABLE (session_uid text, seq bigint) LANGUAGE sql STABLE AS $$
    SELECT m.session_uid, m.seq FROM mcp_interposer.messages m
    WHERE m.session_uid BETWEEN p_from AND p_to AND m.words @@ p_query::tsquery
    ORDER BY m.session_uid DESC, m.seq DESC
$$;

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
