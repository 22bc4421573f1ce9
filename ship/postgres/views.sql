-- Views for dashboards: calls, findings, and lists of tools, of the whole fleet. docs/fleet-schema.md describes their columns; the
-- queries in examples/dashboards use them. They have the rights of their reader.
-- Each has the column session_uid: `session_uid >= mcp_interposer.uid_at(time)` reads only the partitions from that time on.

-- The lists of tools and the findings are rare among the messages, and read often.
CREATE INDEX IF NOT EXISTS messages_tool_lists ON messages (session_uid, seq) WHERE method = 'tools/list';
CREATE INDEX IF NOT EXISTS messages_findings ON messages (session_uid, seq) WHERE finding IS NOT NULL;

-- A query with many partitions has hundreds of expressions: compiling them took 19 seconds, running them 0.1. A setting of the
-- administrator is kept.
DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_db_role_setting r JOIN pg_database d ON d.oid = r.setdatabase, unnest(r.setconfig) AS c
            WHERE d.datname = current_database() AND r.setrole = 0 AND c LIKE 'jit=%') THEN
        EXECUTE format('ALTER DATABASE %I SET jit = off', current_database());
    END IF;
END $$;

-- Times are what a device has sent: no sum of them, and no date, makes a query fail.
CREATE OR REPLACE FUNCTION add_us(p_a bigint, p_b bigint) RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN p_b > 0 THEN CASE WHEN p_a > 9223372036854775807 - p_b THEN 9223372036854775807 ELSE p_a + p_b END
        ELSE CASE WHEN p_a < -9223372036854775808 - p_b THEN -9223372036854775808 ELSE p_a + p_b END END
$$;
CREATE OR REPLACE FUNCTION at_us(p_us bigint) RETURNS timestamptz
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT to_timestamp(least(greatest(p_us / 1e6::float8, -2e11), 9e12))
$$;

-- As the view of the same name in a vault. A condition on session_uid selects partitions. The second part is for sessions of which
-- `ship init` has not added the calls yet.
CREATE OR REPLACE VIEW invocations WITH (security_invoker = true) AS
    SELECT c.session_uid, c.seq AS request_seq, CASE WHEN c.status <> 'cancelled' THEN c.closing_seq END AS response_seq,
        c.method, c.target, c.status, c.error_code, add_us(s.started_at_us, c.t_us) AS started_at_us, c.duration_us,
        c.request_size, c.response_size, s.name, s.host, s.device
    FROM (
        SELECT r.* FROM call_rows r WHERE r.session_uid NOT IN (SELECT f.uid FROM sessions f WHERE f.call_seq IS NOT NULL)
        UNION ALL
        SELECT r.* FROM sessions f CROSS JOIN LATERAL calls_in(f.uid, 0, 9223372036854775807) AS r WHERE f.call_seq IS NOT NULL
    ) AS c
    JOIN sessions s ON s.uid = c.session_uid
    WHERE c.direction = 'c2s' AND c.origin = 'peer';
COMMENT ON VIEW invocations IS 'requests of clients, one row each';

-- Calls of tools, as `mcp-interposer stats` counts them: those of imported sessions are left out.
CREATE OR REPLACE VIEW calls WITH (security_invoker = true) AS
    SELECT i.session_uid, i.request_seq AS seq, at_us(i.started_at_us) AS at,
        d.name AS device, i.host, i.name AS server, s.client_name AS client, i.target AS tool, i.status,
        i.status IN ('tool-error', 'error', 'refused', 'server-gone', 'timeout') AS failed,
        CASE WHEN i.status NOT IN ('open', 'cancelled', 'interrupted', 'refused') THEN i.duration_us / 1000::float8 END AS duration_ms,
        i.request_size, i.response_size
    FROM invocations i
    JOIN sessions s ON s.uid = i.session_uid AND s.pid <> 0
    JOIN devices d ON d.id = i.device
    WHERE i.method = 'tools/call';
COMMENT ON VIEW calls IS 'calls of tools, one row each';

-- One row for each finding of a message.
CREATE OR REPLACE VIEW findings WITH (security_invoker = true) AS
    SELECT m.session_uid, m.seq, at_us(add_us(s.started_at_us, m.t_us)) AS at,
        d.name AS device, s.host, s.name AS server, s.client_name AS client, f.finding,
        CASE m.direction WHEN 'c2s' THEN 'client' ELSE 'server' END AS side, m.kind, m.action,
        coalesce(m.method, (SELECT q.method FROM messages q WHERE q.session_uid = m.session_uid AND q.seq = m.request_seq))
            AS method,
        coalesce(m.target, (SELECT q.target FROM messages q WHERE q.session_uid = m.session_uid AND q.seq = m.request_seq))
            AS target
    FROM messages m
    CROSS JOIN LATERAL unnest(string_to_array(m.finding, ',')) AS f (finding)
    JOIN sessions s ON s.uid = m.session_uid AND s.pid <> 0
    JOIN devices d ON d.id = s.device
    WHERE m.finding IS NOT NULL;
COMMENT ON VIEW findings IS 'findings of messages, one row each';

-- The tools in an answer to tools/list, and whether it is the last page. NULLs: there are none, or text in PostgreSQL cannot
-- have them. Messages are not trusted: no body makes a query fail. It must not be marked as safe for parallel plans: a block with
-- EXCEPTION is not.
CREATE OR REPLACE FUNCTION tools_in(p_body text, OUT tools json, OUT last boolean)
LANGUAGE plpgsql IMMUTABLE PARALLEL UNSAFE AS $$
BEGIN
    IF json_typeof(p_body::json #> '{result,tools}') = 'array' THEN
        SELECT coalesce(json_agg(t ORDER BY t ->> 'name' COLLATE "C"), '[]') INTO tools
            FROM json_array_elements(p_body::json #> '{result,tools}') AS t;
        last := (p_body::json #> '{result,nextCursor}') IS NULL;
    END IF;
EXCEPTION WHEN data_exception OR program_limit_exceeded THEN
    tools := NULL;
    last := NULL;
END $$;

-- One row for each session that has a complete list of tools among its first 500 messages.
CREATE OR REPLACE VIEW tool_lists WITH (security_invoker = true) AS
    SELECT l.session_uid, at_us(add_us(s.started_at_us, l.t_us)) AS at,
        d.name AS device, s.host, s.name AS server, s.server_name, s.server_version, l.hash, l.tools, l.names
    FROM (
        SELECT p.session_uid, max(p.t_us) AS t_us, count(t.tool) AS tools,
            coalesce(array_agg(t.tool ->> 'name' ORDER BY t.tool ->> 'name' COLLATE "C") FILTER (WHERE t.tool IS NOT NULL), '{}')
                AS names,
            left(encode(sha256(convert_to(coalesce(string_agg(t.tool::text, ',' ORDER BY t.tool ->> 'name' COLLATE "C"), ''),
                'UTF8')), 'hex'), 16) AS hash
        FROM (
            SELECT q.session_uid, a.t_us, x.tools, x.last,
                count(*) FILTER (WHERE x.last) OVER w AS complete
            FROM messages q
            CROSS JOIN LATERAL (
                SELECT c.t_us, c.body FROM messages c
                WHERE c.session_uid = q.session_uid AND c.seq > q.seq AND c.seq <= 500 AND c.request_seq = q.seq
                    AND c.kind = 'result' AND c.action = 'forwarded'
                ORDER BY c.seq LIMIT 1) AS a
            CROSS JOIN LATERAL tools_in(a.body) AS x
            WHERE q.method = 'tools/list' AND q.kind = 'request' AND q.seq <= 500
            WINDOW w AS (PARTITION BY q.session_uid ORDER BY q.seq ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)) AS p
        LEFT JOIN LATERAL json_array_elements(p.tools) AS t (tool) ON true
        WHERE p.complete = 0
        GROUP BY p.session_uid
        HAVING bool_or(p.last) AND bool_and(p.tools IS NOT NULL)) AS l
    JOIN sessions s ON s.uid = l.session_uid AND s.pid <> 0
    JOIN devices d ON d.id = s.device;
COMMENT ON VIEW tool_lists IS 'the tools that a server had in a session, one row for each session';

GRANT SELECT ON invocations, calls, findings, tool_lists TO mcp_interposer_reader;
GRANT EXECUTE ON FUNCTION add_us(bigint, bigint), at_us(bigint), tools_in(text), calls_in(text, bigint, bigint), own_answers(text, bigint, bigint),
    own_key(text, text, text), call_status(boolean, text, text, text) TO PUBLIC;
