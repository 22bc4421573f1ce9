-- What readers of the central store use, besides the tables. All of it has the rights of its reader, so that row-level
-- security applies. Functions are called read_*, and return rows: when the store has several shards, the rows of all of
-- them are put together, and sorted and limited again by the caller.

-- Messages whose words match, at most p_rows, newest first, in sessions with p_from <= uid <= p_to; in session p_to only
-- those with seq < p_before. p_query: text of a tsquery. The words are those of the first 256 KiB of a body, and only their
-- first 64 bytes: the caller compares the bodies. One statement that the planner can merge into the caller's, so that it
-- uses the index and knows the partitions.
CREATE OR REPLACE FUNCTION read_search(p_from text, p_to text, p_before bigint, p_query text, p_rows bigint)
RETURNS TABLE (session_uid text, seq bigint) LANGUAGE sql STABLE AS $$
    SELECT m.session_uid, m.seq FROM mcp_interposer.messages m
    WHERE m.session_uid BETWEEN p_from AND p_to AND (m.session_uid < p_to OR m.seq < p_before) AND m.words @@ p_query::tsquery
    ORDER BY m.session_uid DESC, m.seq DESC LIMIT p_rows
$$;

-- ---- what `--from` reads ----

-- Sessions with p_first <= uid < p_before, at most p_rows. p_host and p_user are regular expressions for the host and for
-- the user of the vault, p_number is the id in the vault. NULL: any. sent: 1 if `mcp-interposer send` made the session.
DROP FUNCTION IF EXISTS read_sessions_2(text, text, text, bigint, text, text, boolean, bigint);  -- it had other columns
CREATE FUNCTION read_sessions_2(p_host text, p_user text, p_name text, p_number bigint, p_first text,
    p_before text, p_backwards boolean, p_rows bigint)
RETURNS TABLE (vault text, uid text, number bigint, name text, command text, client_name text, client_version text,
    server_name text, server_version text, protocol_version text, started_at_us bigint, ended_at_us bigint,
    end_reason text, exit_status bigint, pid bigint, host text, record_level text, interposer_version text,
    redact_rules text, salt integer, end_commitment integer, cwd text, tools_rule text, sent integer)
LANGUAGE sql STABLE AS $$
    WITH wanted AS NOT MATERIALIZED (
        SELECT * FROM mcp_interposer.sessions s
        WHERE (p_first IS NULL OR s.uid >= p_first) AND (p_before IS NULL OR s.uid < p_before)
            AND (p_name IS NULL OR s.name = p_name) AND (p_number IS NULL OR s.id = p_number)
            AND (p_host IS NULL OR s.host ~ p_host)
            AND (p_user IS NULL OR EXISTS (SELECT FROM mcp_interposer.vaults v WHERE v.uid = s.vault AND v.os_user ~ p_user))
    ), page AS (
        (SELECT * FROM wanted w WHERE p_backwards ORDER BY w.uid DESC LIMIT p_rows)
        UNION ALL (SELECT * FROM wanted w WHERE NOT p_backwards ORDER BY w.uid LIMIT p_rows)
    )
    -- what is longer was not sent by mcp-interposer-ship; the reader has a page of rows in memory
    SELECT p.vault, p.uid, p.id, left(p.name, 4096),
        CASE WHEN octet_length(p.command) <= 65536 THEN p.command ELSE json_build_array(left(p.command, 1000) || '…')::text END,
        left(p.client_name, 4096), left(p.client_version, 4096), left(p.server_name, 4096), left(p.server_version, 4096),
        left(p.protocol_version, 4096), p.started_at_us, p.ended_at_us, left(p.end_reason, 4096), p.exit_status, p.pid,
        left(p.host, 4096), left(p.record_level, 4096), left(p.interposer_version, 4096), left(p.redact_rules, 65536),
        CASE WHEN p.salt IS NOT NULL THEN 1 END, CASE WHEN p.end_commitment IS NOT NULL THEN 1 END,
        left(p.cwd, 4096), left(p.tools_rule, 65536),
        (EXISTS (SELECT FROM mcp_interposer.events e WHERE e.session_uid = p.uid AND e.kind = 'sent'))::integer
    FROM page p
$$;

-- Vaults with such sessions, at most p_rows.
CREATE OR REPLACE FUNCTION read_vaults(p_host text, p_user text, p_rows bigint) RETURNS TABLE (vault text)
LANGUAGE sql STABLE AS $$
    SELECT v.uid FROM mcp_interposer.vaults v
    WHERE (p_user IS NULL OR v.os_user ~ p_user)
        AND EXISTS (SELECT FROM mcp_interposer.sessions s WHERE s.vault = v.uid AND (p_host IS NULL OR s.host ~ p_host))
    LIMIT p_rows
$$;

-- Messages with p_from <= seq <= p_to, at most p_rows. With p_bodies: until their bodies have p_bytes. A body of more than
-- 64 KiB is not among them: it is read with read_body. A page also ends when its other texts have 8 MiB (REMOTE_TEXTS).
CREATE OR REPLACE FUNCTION read_messages_2(p_vault text, p_session text, p_from bigint, p_to bigint, p_backwards boolean,
    p_bodies boolean, p_rows bigint, p_bytes bigint)
RETURNS TABLE (seq bigint, t_us bigint, direction text, origin text, kind text, rpc_id text, method text, target text,
    body text, body_offset bigint, body_length integer, size bigint, redactions bigint, action text, request_seq bigint,
    error_code bigint, batch_seq bigint, finding text, revision text)
LANGUAGE sql STABLE AS $$
    WITH wanted AS NOT MATERIALIZED (
        SELECT * FROM mcp_interposer.messages m WHERE m.session_uid = p_session AND m.seq BETWEEN p_from AND p_to
    ), page AS (
        (SELECT * FROM wanted w WHERE p_backwards ORDER BY w.seq DESC LIMIT p_rows)
        UNION ALL (SELECT * FROM wanted w WHERE NOT p_backwards ORDER BY w.seq LIMIT p_rows)
    ), summed AS (
        SELECT p.*, CASE WHEN p_bodies THEN sum(CASE WHEN p.body_offset IS NULL THEN octet_length(p.body) END)
                OVER w END AS before,
            sum(octet_length(concat(p.rpc_id, p.method, p.target, p.finding))) OVER w AS texts
        FROM page p
        WINDOW w AS (ORDER BY CASE WHEN p_backwards THEN -p.seq ELSE p.seq END ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
    )
    SELECT s.seq, s.t_us, s.direction, s.origin, s.kind, s.rpc_id, s.method, s.target,
        CASE WHEN p_bodies AND s.body_offset IS NULL THEN s.body END,
        s.body_offset, CASE WHEN s.body_offset IS NOT NULL THEN octet_length(s.body) END,
        s.size, s.redactions, s.action, s.request_seq, s.error_code, s.batch_seq, s.finding, s.revision
    FROM summed s WHERE coalesce(s.before, 0) < p_bytes AND coalesce(s.texts, 0) < 8 << 20
$$;

-- At most p_max bytes of a body from p_at on.
CREATE OR REPLACE FUNCTION read_body(p_vault text, p_session text, p_seq bigint, p_at integer, p_max integer)
RETURNS TABLE (body bytea) LANGUAGE sql STABLE AS $$
    SELECT substr(convert_to(m.body, 'UTF8'), p_at + 1, p_max)
    FROM mcp_interposer.messages m WHERE m.session_uid = p_session AND m.seq = p_seq
$$;

-- Calls of these sessions, in this order, at most p_rows; of the first one those with p_from <= seq <= p_to. place: of the
-- session in p_session, from 0.
CREATE OR REPLACE FUNCTION read_calls(p_session text[], p_from bigint, p_to bigint, p_backwards boolean, p_rows bigint)
RETURNS TABLE (place integer, seq bigint, closing_seq bigint, direction text, origin text, method text, target text, status text,
    error_code bigint, t_us bigint, duration_us bigint, request_size bigint, response_size bigint, revision text,
    operation_seq bigint, result_tokens bigint)
LANGUAGE plpgsql STABLE SET plan_cache_mode = force_generic_plan AS $$  -- as calls_in()
DECLARE
    n bigint;
    is_added boolean;       -- the calls of the session are in call_rows
BEGIN
    FOR i IN 1 .. cardinality(p_session) LOOP
        is_added := (SELECT s.call_seq IS NULL FROM mcp_interposer.sessions s WHERE s.uid = p_session[i]);
        RETURN QUERY SELECT i - 1, c.seq, c.closing_seq, c.direction, c.origin, c.method, c.target, c.status, c.error_code, c.t_us,
                c.duration_us, c.request_size, c.response_size, c.revision, c.operation_seq, c.result_tokens
            FROM (
                (SELECT r.* FROM mcp_interposer.call_rows r WHERE is_added AND NOT p_backwards AND r.session_uid = p_session[i]
                    AND r.seq BETWEEN p_from AND p_to ORDER BY r.seq LIMIT p_rows)
                UNION ALL
                (SELECT r.* FROM mcp_interposer.call_rows r WHERE is_added AND p_backwards AND r.session_uid = p_session[i]
                    AND r.seq BETWEEN p_from AND p_to ORDER BY r.seq DESC LIMIT p_rows)
                UNION ALL
                (SELECT r.* FROM mcp_interposer.calls_in(p_session[i], 0, 9223372036854775807) AS r WHERE NOT is_added
                    AND r.seq BETWEEN p_from AND p_to ORDER BY CASE WHEN p_backwards THEN -r.seq ELSE r.seq END LIMIT p_rows)
            ) AS c;
        GET DIAGNOSTICS n = ROW_COUNT;
        p_rows := p_rows - n;
        EXIT WHEN p_rows <= 0;
        p_from := 0;
        p_to := 9223372036854775807;
    END LOOP;
END $$;

-- One row for each of these sessions: its last message, signs of trouble (1 or 0), and how many calls of the client have each status.
CREATE OR REPLACE FUNCTION read_summaries(p_session text[])
RETURNS TABLE (place integer, last_seq bigint, last_t_us bigint, tools_changed integer, unfinished integer, ok bigint, tool_error bigint,
    error bigint, refused bigint, cancelled bigint, server_gone bigint, interrupted bigint, timeout bigint, open bigint)
LANGUAGE plpgsql STABLE SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    is_added boolean;       -- the calls of the session are in call_rows
BEGIN
    FOR i IN 1 .. cardinality(p_session) LOOP
        SELECT s.call_seq IS NULL INTO is_added FROM mcp_interposer.sessions s WHERE s.uid = p_session[i];
        CONTINUE WHEN NOT FOUND;
        RETURN QUERY SELECT i - 1, coalesce(l.seq, 0), coalesce(l.t_us, 0), coalesce(f.changed, 0), coalesce(f.unfinished, 0),
                count(*) FILTER (WHERE c.status = 'ok'), count(*) FILTER (WHERE c.status = 'tool-error'),
                count(*) FILTER (WHERE c.status = 'error'), count(*) FILTER (WHERE c.status = 'refused'),
                count(*) FILTER (WHERE c.status = 'cancelled'), count(*) FILTER (WHERE c.status = 'server-gone'),
                count(*) FILTER (WHERE c.status = 'interrupted'), count(*) FILTER (WHERE c.status = 'timeout'),
                count(*) FILTER (WHERE c.status = 'open')
            FROM (SELECT 1) AS one
            LEFT JOIN (SELECT m.seq, m.t_us FROM mcp_interposer.messages m WHERE m.session_uid = p_session[i]
                ORDER BY m.seq DESC LIMIT 1) AS l ON true
            LEFT JOIN (SELECT max((m.finding LIKE '%tool-changed%')::integer) AS changed,
                    max((m.finding LIKE '%unfinished-line%')::integer) AS unfinished
                FROM mcp_interposer.messages m WHERE m.session_uid = p_session[i] AND m.finding IS NOT NULL AND m.direction = 's2c')
                AS f ON true
            LEFT JOIN (
                SELECT r.status FROM mcp_interposer.call_rows r
                    WHERE is_added AND r.session_uid = p_session[i] AND r.direction = 'c2s' AND r.origin = 'peer'
                UNION ALL
                SELECT r.status FROM mcp_interposer.calls_in(p_session[i], 0, 9223372036854775807) AS r
                    WHERE NOT is_added AND r.direction = 'c2s' AND r.origin = 'peer') AS c ON true
            GROUP BY l.seq, l.t_us, f.changed, f.unfinished;
    END LOOP;
END $$;

-- Events with p_from <= id <= p_to, at most p_rows, until their texts have 8 MiB (REMOTE_TEXTS).
CREATE OR REPLACE FUNCTION read_events(p_vault text, p_session text, p_from bigint, p_to bigint, p_backwards boolean,
    p_rows bigint)
RETURNS TABLE (id bigint, t_us bigint, kind text, detail text) LANGUAGE sql STABLE AS $$
    WITH page AS (
        (SELECT e.id, e.t_us, e.kind, e.detail FROM mcp_interposer.events e
            WHERE NOT p_backwards AND e.session_uid = p_session AND e.id BETWEEN p_from AND p_to ORDER BY e.id LIMIT p_rows)
        UNION ALL
        (SELECT e.id, e.t_us, e.kind, e.detail FROM mcp_interposer.events e
            WHERE p_backwards AND e.session_uid = p_session AND e.id BETWEEN p_from AND p_to ORDER BY e.id DESC LIMIT p_rows)
    ), summed AS (
        SELECT p.*, sum(octet_length(concat(p.kind, p.detail)))
            OVER (ORDER BY CASE WHEN p_backwards THEN -p.id ELSE p.id END ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS texts
        FROM page p
    )
    SELECT s.id, s.t_us, s.kind, s.detail FROM summed s WHERE coalesce(s.texts, 0) < 8 << 20
$$;

-- The seals of a session, in the log of its vault: leaves that begin with p_first, which is `{"type":"seal","session":"UID",`.
CREATE OR REPLACE FUNCTION read_seals(p_first text) RETURNS TABLE (n bigint, leaf text) LANGUAGE sql STABLE AS $$
    SELECT l.n, l.leaf FROM mcp_interposer.leaves l
    WHERE substr(l.leaf, 27, 26) = substr(p_first, 27, 26) AND l.leaf LIKE '{"type":"seal","session":"%'
        AND EXISTS (SELECT FROM mcp_interposer.sessions s WHERE s.uid = substr(p_first, 27, 26) AND s.vault = l.vault)
        AND starts_with(l.leaf, p_first)
$$;

-- ---- readers of version 1 ----

CREATE OR REPLACE FUNCTION read_sessions(p_host text, p_user text, p_name text, p_number bigint, p_first text,
    p_before text, p_backwards boolean, p_rows bigint)
RETURNS TABLE (vault text, uid text, number bigint, name text, command text, client_name text, client_version text,
    server_name text, server_version text, protocol_version text, started_at_us bigint, ended_at_us bigint,
    end_reason text, exit_status bigint, pid bigint, host text, record_level text, interposer_version text,
    redact_rules text, salt integer, end_commitment integer)
LANGUAGE sql STABLE AS $$
    SELECT s.vault, s.uid, s.number, s.name, s.command, s.client_name, s.client_version, s.server_name, s.server_version,
        s.protocol_version, s.started_at_us, s.ended_at_us, s.end_reason, s.exit_status, s.pid, s.host, s.record_level,
        s.interposer_version, s.redact_rules, s.salt, s.end_commitment
    FROM mcp_interposer.read_sessions_2(p_host, p_user, p_name, p_number, p_first, p_before, p_backwards, p_rows) AS s
$$;

CREATE OR REPLACE FUNCTION read_messages(p_vault text, p_session text, p_from bigint, p_to bigint, p_backwards boolean,
    p_bodies boolean, p_rows bigint, p_bytes bigint)
RETURNS TABLE (seq bigint, t_us bigint, direction text, origin text, kind text, rpc_id text, method text, target text,
    body text, body_offset bigint, body_length integer, size bigint, redactions bigint, action text, request_seq bigint,
    error_code bigint, batch_seq bigint, finding text)
LANGUAGE sql STABLE AS $$
    SELECT m.seq, m.t_us, m.direction, m.origin, m.kind, m.rpc_id, m.method, m.target, m.body, m.body_offset, m.body_length, m.size,
        m.redactions, m.action, m.request_seq, m.error_code, m.batch_seq, m.finding
    FROM mcp_interposer.read_messages_2(p_vault, p_session, p_from, p_to, p_backwards, p_bodies, p_rows, p_bytes) AS m
$$;

-- ---- rights ----

-- A role that may read these devices only.
CREATE OR REPLACE FUNCTION add_reader(p_role name, p_devices text[]) RETURNS void
LANGUAGE plpgsql SET search_path = mcp_interposer, pg_temp AS $$
DECLARE
    unknown text := (SELECT d FROM unnest(p_devices) AS d WHERE d NOT IN (SELECT name FROM devices) LIMIT 1);
    t text;
BEGIN
    IF unknown IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = '22023', MESSAGE = format('there is no device %s', unknown);
    END IF;
    EXECUTE format('GRANT USAGE ON SCHEMA mcp_interposer TO %I', p_role);
    FOR t IN SELECT c.relname FROM pg_class c WHERE c.relnamespace = 'mcp_interposer'::regnamespace
            AND has_table_privilege('mcp_interposer_reader', c.oid, 'SELECT') AND NOT c.relispartition LOOP
        EXECUTE format('GRANT SELECT ON mcp_interposer.%I TO %I', t, p_role);
    END LOOP;
    INSERT INTO readers SELECT p_role, d.id FROM devices d WHERE d.name = ANY (p_devices) ON CONFLICT DO NOTHING;
END $$;
REVOKE ALL ON FUNCTION add_reader FROM PUBLIC;

-- The tables that they read decide who may use them.
DO $$
DECLARE
    f regprocedure;
BEGIN
    FOR f IN SELECT p.oid::regprocedure FROM pg_proc p
            WHERE p.pronamespace = 'mcp_interposer'::regnamespace AND p.proname LIKE 'read\_%' LOOP
        EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO PUBLIC', f);
    END LOOP;
END $$;
