-- The calls of the central store: `call_rows` follows from `messages`, by the rules of the vault (model/calls.h, model/status.h).
-- Those that readers use, in the view `invocations` and in read_calls(), have the rights of their reader.

-- What became of a request, by the message that ended it. p_kind NULL: none has.
CREATE OR REPLACE FUNCTION call_status(p_refused boolean, p_kind text, p_origin text, p_finding text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN p_refused THEN 'refused'
        WHEN p_kind IS NULL THEN 'open'
        WHEN p_kind = 'notification' THEN 'cancelled'
        WHEN p_origin = 'interposer' AND p_finding LIKE '%server-gone%' THEN 'server-gone'
        WHEN p_origin = 'interposer' AND p_finding LIKE '%interrupted%' THEN 'interrupted'
        WHEN p_origin = 'interposer' AND p_finding LIKE '%timeout%' THEN 'timeout'
        WHEN p_kind = 'error' THEN 'error'
        WHEN p_finding LIKE '%tool-error%' THEN 'tool-error'
        ELSE 'ok' END
$$;

-- Equal for a request of the interposer and its answer. NULL: it has no id of the interposer's.
CREATE OR REPLACE FUNCTION own_key(p_kind text, p_direction text, p_rpc_id text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN octet_length(p_rpc_id) <= 40 THEN
        CASE WHEN (p_kind = 'request') = (p_direction = 'c2s') THEN 'server ' ELSE 'client ' END || p_rpc_id END
$$;

-- Which answers with p_after < seq <= p_last belong to which requests of the interposer. They have no request_seq: each belongs to
-- the oldest open one with its id among the last 64. `call_rows` has the calls up to p_after.
CREATE OR REPLACE FUNCTION own_answers(p_session text, p_after bigint, p_last bigint) RETURNS TABLE (answer bigint, request bigint)
LANGUAGE plpgsql STABLE AS $$
DECLARE
    asked bigint[];     -- seq
    awaits text[];      -- of each: what own_key() makes of its answer; NULL: it is answered
    m record;
    i integer;
BEGIN
    FOR m IN SELECT x.seq, x.kind, mcp_interposer.own_key(x.kind, x.direction, x.rpc_id) AS key FROM mcp_interposer.messages x
            WHERE x.session_uid = p_session AND x.seq > p_after AND x.seq <= p_last
                AND (x.kind = 'request' AND x.origin = 'interposer'
                    OR x.kind IN ('result', 'error') AND x.action = 'swallowed' AND x.request_seq IS NULL
                        AND x.finding LIKE '%own-request%')
            ORDER BY x.seq LOOP
        IF asked IS NULL THEN
            SELECT coalesce(array_agg(r.seq ORDER BY r.seq), '{}'), coalesce(array_agg(CASE WHEN r.closing_seq IS NULL
                    THEN mcp_interposer.own_key(q.kind, q.direction, q.rpc_id) END ORDER BY r.seq), '{}')
                INTO asked, awaits
                FROM (SELECT c.seq, c.closing_seq FROM mcp_interposer.call_rows c
                    WHERE c.session_uid = p_session AND c.seq <= p_after AND c.origin = 'interposer' ORDER BY c.seq DESC LIMIT 64) AS r
                JOIN mcp_interposer.messages q ON q.session_uid = p_session AND q.seq = r.seq;
        END IF;
        i := CASE WHEN m.kind <> 'request' AND m.key IS NOT NULL THEN array_position(awaits, m.key) END;
        IF m.kind = 'request' THEN
            asked := (array_append(asked, m.seq))[greatest(cardinality(asked) - 62, 1):];
            awaits := (array_append(awaits, m.key))[greatest(cardinality(awaits) - 62, 1):];
        ELSIF i IS NOT NULL THEN
            answer := m.seq;
            request := asked[i];
            awaits[i] := NULL;
            RETURN NEXT;
        END IF;
    END LOOP;
END $$;

-- The calls that the messages with p_after < seq <= p_last begin or end. `call_rows` has those up to p_after.
-- Of the messages of a call, which are those with the same `call`, the request comes first; what does not end it is left out.
-- One plan for all sessions: to plan it for the partition of one session takes longer than to run it for a few messages.
CREATE OR REPLACE FUNCTION calls_in(p_session text, p_after bigint, p_last bigint) RETURNS SETOF mcp_interposer.call_rows
LANGUAGE plpgsql STABLE SET plan_cache_mode = force_generic_plan AS $$
BEGIN
    RETURN QUERY
    WITH own AS MATERIALIZED (
        SELECT * FROM mcp_interposer.own_answers(p_session, p_after, p_last)
    ), m AS MATERIALIZED (
        SELECT x.seq, x.t_us, x.direction, x.origin, x.kind, x.method, x.target, x.size, x.action, x.error_code, x.finding,
            CASE WHEN x.kind = 'request' THEN x.seq
                WHEN x.request_seq IS NULL AND x.action = 'swallowed' AND x.finding LIKE '%own-request%'
                    THEN (SELECT o.request FROM own o WHERE o.answer = x.seq)
                ELSE x.request_seq END AS call
        FROM mcp_interposer.messages x
        WHERE x.session_uid = p_session AND x.seq > p_after AND x.seq <= p_last AND x.direction IN ('c2s', 's2c')
            AND (x.kind = 'request' AND x.origin IN ('peer', 'interposer') OR x.kind IN ('result', 'error', 'notification'))
    ), known AS (
        SELECT * FROM m WHERE m.call <= m.seq
        UNION ALL
        SELECT r.seq, r.t_us, r.direction, r.origin, 'request', r.method, r.target, r.request_size,
            CASE WHEN r.status = 'refused' THEN 'refused' END, NULL, NULL, r.seq
        FROM mcp_interposer.call_rows r
        WHERE r.session_uid = p_session AND r.closing_seq IS NULL AND r.seq <= p_after
            AND r.seq = ANY (ARRAY(SELECT m.call FROM m WHERE m.call <= p_after))
    ), asked AS (
        SELECT k.*, first_value(k.direction) OVER w AS asked_direction, first_value(k.origin) OVER w AS asked_origin
        FROM known k WINDOW w AS (PARTITION BY k.call ORDER BY k.seq)
    ), c AS (
        SELECT a.*, lead(a.seq) OVER w AS end_seq, lead(a.t_us) OVER w AS end_us, lead(a.kind) OVER w AS end_kind,
            lead(a.origin) OVER w AS end_origin, lead(a.finding) OVER w AS end_finding, lead(a.size) OVER w AS end_size,
            lead(a.error_code) OVER w AS end_error
        FROM asked a
        WHERE CASE a.kind WHEN 'request' THEN true
            WHEN 'notification' THEN a.direction = a.asked_direction AND a.action = 'forwarded' AND a.origin = 'peer'
                AND a.asked_origin = 'peer'
            ELSE a.direction <> a.asked_direction AND (a.action = 'forwarded' OR a.asked_origin = 'interposer') END
        WINDOW w AS (PARTITION BY a.call ORDER BY a.seq)
    )
    SELECT p_session, c.seq, c.end_seq, c.t_us,
        CASE WHEN c.end_seq IS NULL THEN CASE WHEN c.action = 'refused' THEN 0 END  -- whatever the times are, 63 bits suffice
            WHEN c.end_us > c.t_us AND (c.t_us >= 0 OR c.end_us <= 9223372036854775807 + c.t_us) THEN c.end_us - c.t_us ELSE 0 END,
        c.size, CASE WHEN c.end_kind <> 'notification' THEN c.end_size END,
        CASE WHEN c.end_kind <> 'notification' THEN c.end_error END, NULL::bigint, NULL::bigint, c.direction, c.origin, c.method, c.target,
        mcp_interposer.call_status(coalesce(c.action = 'refused', false), c.end_kind, c.end_origin, c.end_finding), NULL::text
    FROM c WHERE c.kind = 'request';
END $$;

-- Adds the calls of messages that were added to a session, to those of the messages before them.
CREATE OR REPLACE FUNCTION add_calls(p_session text, p_after bigint, p_last bigint) RETURNS void
LANGUAGE plpgsql SET search_path = mcp_interposer, pg_temp AS $$
BEGIN
    INSERT INTO call_rows SELECT * FROM calls_in(p_session, p_after, p_last)
        ON CONFLICT (session_uid, seq) DO UPDATE SET (closing_seq, duration_us, response_size, error_code, status)
        = (excluded.closing_seq, excluded.duration_us, excluded.response_size, excluded.error_code, excluded.status);
END $$;

-- Messages were changed: by a redaction, or by a finding that was added.
CREATE OR REPLACE FUNCTION change_calls(p_session text, p_seq bigint[]) RETURNS void
LANGUAGE plpgsql SET search_path = mcp_interposer, pg_temp AS $$
BEGIN
    UPDATE call_rows r SET method = m.method, target = m.target FROM messages m
        WHERE m.session_uid = p_session AND m.seq = ANY (p_seq) AND m.kind = 'request' AND r.session_uid = p_session AND r.seq = m.seq
            AND (r.method, r.target) IS DISTINCT FROM (m.method, m.target);
    UPDATE call_rows r SET status = call_status(r.status = 'refused', m.kind, m.origin, m.finding)
        FROM (SELECT x.*, coalesce(x.request_seq, CASE WHEN x.finding LIKE '%own-request%' THEN
                    (SELECT c.seq FROM call_rows c WHERE c.session_uid = p_session AND c.origin = 'interposer' AND c.closing_seq = x.seq)
                END) AS ended
            FROM messages x WHERE x.session_uid = p_session AND x.seq = ANY (p_seq) AND x.kind <> 'request') AS m
        WHERE r.session_uid = p_session AND r.seq = m.ended AND r.closing_seq = m.seq
            AND r.status <> call_status(r.status = 'refused', m.kind, m.origin, m.finding);
END $$;

-- ---- sessions from before there were `call_rows` ----

-- Adds the calls of about p_messages messages, newest sessions first. Returns whether some are left.
CREATE OR REPLACE FUNCTION fill_calls(p_messages bigint) RETURNS boolean
LANGUAGE plpgsql SET search_path = mcp_interposer, pg_temp AS $$
DECLARE
    s sessions;
    next text;
    before text := '~';     -- after all uids
    last bigint;
    n bigint;
BEGIN
    WHILE p_messages > 0 LOOP
        SELECT uid INTO next FROM sessions WHERE call_seq IS NOT NULL AND uid < before ORDER BY uid DESC LIMIT 1;
        IF NOT FOUND THEN
            RETURN false;
        END IF;
        before := next;
        PERFORM FROM vaults WHERE uid = (SELECT vault FROM sessions WHERE uid = next) FOR UPDATE;  -- no messages are added meanwhile
        SELECT * INTO s FROM sessions WHERE uid = next AND call_seq IS NOT NULL;
        CONTINUE WHEN NOT FOUND;
        SELECT max(x.seq), count(*) INTO last, n FROM (SELECT m.seq FROM messages m
            WHERE m.session_uid = next AND m.seq > s.call_seq AND m.seq <= s.seq ORDER BY m.seq LIMIT p_messages) AS x;
        PERFORM add_calls(next, s.call_seq, last) WHERE n > 0;
        UPDATE sessions SET call_seq = CASE WHEN n = p_messages THEN last END WHERE uid = next;
        p_messages := p_messages - n - 1;
    END LOOP;
    RETURN true;
END $$;

-- Adds them all, in short transactions. CALL it outside a transaction. If it is ended, call it again.
CREATE OR REPLACE PROCEDURE fill_all_calls() LANGUAGE plpgsql AS $$
BEGIN
    WHILE mcp_interposer.fill_calls(10000) LOOP
        COMMIT;
    END LOOP;
END $$;
REVOKE ALL ON PROCEDURE fill_all_calls FROM PUBLIC;
