-- What readers of the central store use, besides the tables. All of it has the rights of its reader, so that row-level
-- security applies. Functions are called read_*, and return rows: when the store has several shards, the rows of all of
-- them are put together, and sorted and limited again by the caller.

-- As the view of the same name in a vault. It has the rights of its reader.
CREATE OR REPLACE VIEW invocations WITH (security_invoker = true) AS
    SELECT q.session_uid, q.seq AS request_seq,
        CASE WHEN c.kind <> 'notification' THEN c.seq END AS response_seq,
        q.method, q.target,
        CASE WHEN q.action = 'refused' THEN 'refused'
            WHEN c.seq IS NULL THEN 'open'
            WHEN c.kind = 'notification' THEN 'cancelled'
            WHEN c.origin = 'interposer' AND c.finding LIKE '%server-gone%' THEN 'server-gone'
            WHEN c.origin = 'interposer' AND c.finding LIKE '%interrupted%' THEN 'interrupted'
            WHEN c.origin = 'interposer' AND c.finding LIKE '%timeout%' THEN 'timeout'
            WHEN c.kind = 'error' THEN 'error'
            WHEN c.finding LIKE '%tool-error%' THEN 'tool-error'
            ELSE 'ok' END AS status,
        c.error_code, s.started_at_us + q.t_us AS started_at_us, c.t_us - q.t_us AS duration_us,
        q.size AS request_size, CASE WHEN c.kind <> 'notification' THEN c.size END AS response_size,
        s.name, s.host, s.device
    FROM messages q
    JOIN sessions s ON s.uid = q.session_uid
    LEFT JOIN messages c ON c.session_uid = q.session_uid AND c.request_seq = q.seq AND c.action = 'forwarded'
        AND (c.direction = 's2c' AND c.kind IN ('result', 'error') OR c.direction = 'c2s' AND c.kind = 'notification')
    WHERE q.kind = 'request' AND q.direction = 'c2s' AND q.origin = 'peer'
        AND (c.seq IS NOT NULL OR q.action = 'forwarded');
GRANT SELECT ON invocations TO mcp_interposer_reader;

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
