-- Operations: calls that were several requests. They follow from the messages when they are asked for, by the rules of the vault
-- (model/link.h, model/operations.h). All of it has the rights of its reader. docs/fleet-schema.md describes the views.

-- Whether link_of() may find something in a message: each link has one of these members. Its name may have escapes.
CREATE OR REPLACE FUNCTION may_link(p_body text) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT strpos(p_body, 'taskId') > 0 OR strpos(p_body, 'requestState') > 0 OR strpos(p_body, 'inputRe') > 0
        OR strpos(p_body, '\u00') > 0 AND p_body ~ '\\u00[4-7]'
$$;

-- ---- what a message says about its operation ----

-- Equal for equal texts, and short: whoever sends a message chooses how long its texts are.
CREATE OR REPLACE FUNCTION short_key(p_text text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN octet_length(p_text) <= 200 THEN p_text ELSE encode(sha256(convert_to(p_text, 'UTF8')), 'hex') END
$$;

CREATE OR REPLACE FUNCTION string_in(p_json json) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN json_typeof(p_json) = 'string' THEN p_json #>> '{}' END
$$;

-- How many requests for input these are, 256 at most, and whether one of them is for a person.
CREATE OR REPLACE FUNCTION asks_in(p_requests json, OUT asks bigint, OUT person boolean)
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT count(*), coalesce(bool_or(mcp_interposer.string_in(r.value -> 'method') = 'elicitation/create'), false)
    FROM (
        (SELECT e.value FROM json_each(CASE WHEN json_typeof(p_requests) = 'object' THEN p_requests ELSE '{}' END) AS e LIMIT 256)
        UNION ALL
        (SELECT e.value FROM json_array_elements(CASE WHEN json_typeof(p_requests) = 'array' THEN p_requests ELSE '[]' END) AS e LIMIT 256)
    ) AS r
$$;

-- kind: `asks`, an answer that asks for input; `retry`, a request that brings it, or the state of an earlier answer; `starts`, an answer
-- that starts a task; `task`, a request about a task; `state`, the state of a task; `for-task`, a request that belongs to a task of the
-- other side. NULL: none. key: of the requestState, or of the task. status: of the task. No body makes it fail. As
-- tools_in(), it is not safe for parallel plans.
CREATE OR REPLACE FUNCTION link_of(p_kind text, p_body text, OUT kind text, OUT key text, OUT brings_input boolean, OUT asks bigint,
    OUT person boolean, OUT status text)
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
    j json;
    task json;      -- an object with the state of a task
    method text;
BEGIN
    j := p_body::json;
    method := mcp_interposer.string_in(j -> 'method');
    j := CASE WHEN p_kind = 'result' THEN j -> 'result' ELSE j -> 'params' END;
    asks := 0;
    person := false;
    IF p_kind = 'result' THEN
        IF mcp_interposer.string_in(j -> 'resultType') = 'input_required' THEN
            IF (j -> 'inputRequests') IS NOT NULL OR (j -> 'requestState') IS NOT NULL OR (j -> 'taskId') IS NOT NULL
                    OR (j -> 'task') IS NOT NULL THEN
                kind := 'asks';
                key := mcp_interposer.string_in(j -> 'requestState');
                SELECT x.asks, x.person INTO asks, person FROM mcp_interposer.asks_in(j -> 'inputRequests') AS x;
            END IF;
        ELSIF (j -> 'taskId') IS NOT NULL THEN
            kind := CASE WHEN mcp_interposer.string_in(j -> 'resultType') = 'task' THEN 'starts' ELSE 'state' END;
            task := j;
        ELSIF json_typeof(j -> 'task' -> 'taskId') = 'string' THEN
            kind := 'starts';
            task := j -> 'task';
        END IF;
    ELSIF p_kind = 'notification' THEN
        IF starts_with(method, 'notifications/tasks') THEN
            kind := 'state';
            task := j;
        END IF;
    ELSIF p_kind = 'request' THEN
        brings_input := coalesce(json_typeof(j -> 'inputResponses') = 'object', false);
        IF starts_with(method, 'tasks/') THEN
            key := mcp_interposer.string_in(j -> 'taskId');
            kind := CASE WHEN key IS NOT NULL THEN 'task' END;
        ELSIF brings_input OR json_typeof(j -> 'requestState') = 'string' THEN
            kind := 'retry';
            key := mcp_interposer.string_in(j -> 'requestState');
        ELSE
            key := mcp_interposer.string_in(j -> '_meta' -> 'io.modelcontextprotocol/related-task' -> 'taskId');
            kind := CASE WHEN key IS NOT NULL THEN 'for-task' END;
            person := coalesce(method = 'elicitation/create', false);
            asks := CASE WHEN method IN ('elicitation/create', 'sampling/createMessage', 'roots/list') THEN 1 ELSE 0 END;
        END IF;
    END IF;
    IF task IS NOT NULL THEN
        key := mcp_interposer.string_in(task -> 'taskId');
        status := mcp_interposer.string_in(task -> 'status');
        IF status = 'input_required' THEN
            SELECT x.asks, x.person INTO asks, person FROM mcp_interposer.asks_in(task -> 'inputRequests') AS x;
        END IF;
        status := CASE status WHEN 'completed' THEN CASE WHEN (task -> 'result' -> 'isError')::text = 'true' THEN 'tool-error' ELSE 'ok' END
            WHEN 'failed' THEN 'error' WHEN 'cancelled' THEN 'cancelled' ELSE 'open' END;
    END IF;
    key := mcp_interposer.short_key(key);
EXCEPTION
    WHEN program_limit_exceeded THEN
        kind := NULL;
    WHEN data_exception THEN        -- what text in PostgreSQL cannot have is replaced, once
        kind := NULL;
        IF p_body ~* '\\u(0000|d[89a-f][0-9a-f]{2})' THEN
            SELECT x.* INTO kind, key, brings_input, asks, person, status
                FROM mcp_interposer.link_of(p_kind, regexp_replace(p_body, '\\u(0000|d[89a-f][0-9a-f]{2})', '\\ufffd', 'gi')) AS x;
        END IF;
END $$;

-- ---- the operations of a session ----

-- One that may go on. state: `runs`, `asked` and `asked-person`: it waits for the request, again; `task`; `task-asked` and `task-person`: its task waits for input; `ended`.
DO $$
BEGIN
    IF to_regtype('mcp_interposer.operation_row') IS NULL THEN
        CREATE TYPE mcp_interposer.operation_row AS (seq bigint, t_us bigint, direction text, requests bigint, asked bigint, status text,
            closing_seq bigint, error_code bigint, duration_us bigint, server_us bigint, person_us bigint, state text, since_us bigint);
    END IF;
END $$;

-- The messages of a session that begin, continue or end an operation, in their order, from p_from on: requests (`begin`), the ends of
-- calls of which the request or the answer has a link (`end`), and notifications (`note`). owner: the direction of the operation. awaits: what it
-- awaits if it goes on, or what the message continues, as a key. Times are bounded, so that sums of them are.
-- One plan for all sessions, as calls_in(). It has no nested loops: they would be quadratic in a session that is longer than most.
CREATE OR REPLACE FUNCTION links_in(p_session text, p_from bigint) RETURNS TABLE (seq bigint, what text, call bigint, direction text,
    method text, t_us bigint, end_us bigint, closes boolean, status text, error_code bigint, kind text, owner text, awaits text,
    brings_input boolean, asks bigint, person boolean, task_status text)
LANGUAGE plpgsql STABLE SET plan_cache_mode = force_generic_plan SET enable_nestloop = off AS $$
DECLARE
    is_added boolean := (SELECT s.call_seq IS NULL FROM mcp_interposer.sessions s WHERE s.uid = p_session);
    most constant bigint := 1::bigint << 57;    -- 4,500 years
BEGIN
    RETURN QUERY
    WITH linked AS MATERIALIZED (
        SELECT m.seq, m.t_us, m.direction, m.action, m.kind AS message, l.*
        FROM mcp_interposer.messages m CROSS JOIN LATERAL mcp_interposer.link_of(m.kind, m.body) AS l
        WHERE m.session_uid = p_session AND m.seq >= p_from AND m.kind IN ('request', 'result', 'notification')
            AND mcp_interposer.may_link(m.body) AND l.kind IS NOT NULL
    ), calls AS MATERIALIZED (
        SELECT c.seq, c.closing_seq, c.direction, c.method, c.target, c.status, c.error_code, least(greatest(c.t_us, -most), most) AS t_us,
            least(greatest(c.t_us, -most), most) + least(coalesce(c.duration_us, 0), most) AS end_us
        FROM (
            SELECT r.* FROM mcp_interposer.call_rows r WHERE is_added AND r.session_uid = p_session
            UNION ALL
            SELECT r.* FROM mcp_interposer.calls_in(p_session, 0, 9223372036854775807) AS r WHERE NOT is_added
        ) AS c
        WHERE c.origin = 'peer'
    ), found AS (
        SELECT l.seq, 'begin' AS what, c.seq AS call, c.direction, c.method, c.target, c.t_us, c.end_us, c.closing_seq IS NOT NULL AS closes,
            c.status, c.error_code, l.kind, l.key, l.brings_input, l.asks, l.person, l.status AS task_status,
            CASE WHEN (l.kind = 'for-task') = (c.direction = 's2c') THEN 'c2s' ELSE 's2c' END AS owner
        FROM linked l JOIN calls c ON c.seq = l.seq
        WHERE l.message = 'request' AND c.status <> 'refused'
        UNION ALL
        SELECT c.closing_seq, 'end', c.seq, c.direction, c.method, c.target, c.t_us, c.end_us, true,
            c.status, c.error_code, l.kind, l.key, l.brings_input, l.asks, l.person, l.status, c.direction
        FROM calls c LEFT JOIN linked l ON l.seq = c.closing_seq LEFT JOIN linked q ON q.seq = c.seq
        WHERE c.closing_seq IS NOT NULL AND (l.seq IS NOT NULL OR q.seq IS NOT NULL) AND l.message IS DISTINCT FROM 'notification'
        UNION ALL
        SELECT l.seq, 'note', NULL, l.direction, NULL, NULL, least(greatest(l.t_us, -most), most), NULL, NULL,
            NULL, NULL, l.kind, l.key, l.brings_input, l.asks, l.person, l.status, CASE l.direction WHEN 's2c' THEN 'c2s' ELSE 's2c' END
        FROM linked l WHERE l.message = 'notification' AND l.action = 'forwarded'
    )
    SELECT f.seq, f.what, f.call, f.direction, left(f.method, 64), f.t_us, f.end_us, f.closes, f.status, f.error_code, f.kind, f.owner,
        CASE WHEN f.kind IN ('asks', 'retry') THEN
                mcp_interposer.short_key(ARRAY[coalesce(f.method, ''), coalesce(f.target, ''), f.key]::text)
            WHEN f.key IS NOT NULL THEN 'task ' || f.key END,
        f.brings_input, f.asks, f.person, f.task_status
    FROM found f ORDER BY f.seq;
END $$;

-- The operations of a session, and the requests that continue one: these have operation_seq, and no more. The last 256 operations
-- may go on, and of the requests that continue one, the last 1024 that have no answer yet may end it.
CREATE OR REPLACE FUNCTION operations_in(p_session text, p_from bigint) RETURNS TABLE (seq bigint, operation_seq bigint, t_us bigint,
    requests bigint, asked bigint, status text, closing_seq bigint, error_code bigint, duration_us bigint, server_us bigint, person_us bigint)
LANGUAGE plpgsql STABLE AS $$
DECLARE
    kept mcp_interposer.operation_row[] := '{}';
    awaits text[] := '{}';      -- of each in `kept`: what continues it
    first bigint[] := '{}';     -- of each: seq
    n integer := 0;             -- operations so far: number i is at (i - 1) % 256 + 1
    open_call bigint[] := '{}'; -- requests that continue an operation and will have an answer
    open_first bigint[] := '{}';
    e record;
    o mcp_interposer.operation_row;
    at integer;                 -- of o in `kept`; NULL: none
    found integer[];
    next text;                  -- the state that o enters; NULL: it stays
    t bigint;
    waited bigint;
    most constant bigint := 1::bigint << 61;
BEGIN
    FOR e IN SELECT * FROM mcp_interposer.links_in(p_session, p_from) LOOP
        next := NULL;
        t := e.t_us;
        IF e.what = 'end' THEN
            t := e.end_us;
            at := array_position(open_call, e.call);
            IF at IS NOT NULL THEN
                found := ARRAY[array_position(first, open_first[at])];
                open_call := open_call[:at - 1] || open_call[at + 1:];
                open_first := open_first[:at - 1] || open_first[at + 1:];
                CONTINUE WHEN found[1] IS NULL;
                at := found[1];
                o := kept[at];
            ELSIF e.kind IN ('asks', 'starts') AND e.status = 'ok' THEN
                n := n + 1;
                at := (n - 1) % 256 + 1;
                IF n > 256 THEN
                    o := kept[at];
                    SELECT o.seq, NULL, o.t_us, o.requests, o.asked, o.status, o.closing_seq, o.error_code, o.duration_us, o.server_us,
                        o.person_us INTO seq, operation_seq, t_us, requests, asked, status, closing_seq, error_code, duration_us, server_us,
                        person_us;
                    RETURN NEXT;
                END IF;
                o := ROW(e.call, e.t_us, e.direction, 1, 0, 'open', NULL, NULL, NULL, 0, 0, 'runs', e.t_us);
                first[at] := e.call;
            ELSE
                CONTINUE;
            END IF;
        ELSE
            CONTINUE WHEN e.awaits IS NULL;
            found := array_positions(awaits, e.owner || ' ' || e.awaits);
            IF found = '{}' AND e.kind <> 'retry' THEN
                found := array_positions(awaits, 'ended ' || e.owner || ' ' || e.awaits);
            END IF;
            CONTINUE WHEN cardinality(found) <> 1;
            at := found[1];
            o := kept[at];
        END IF;

        IF e.what = 'begin' THEN
            IF e.kind = 'for-task' THEN
                o.asked := o.asked + e.asks;
                next := CASE WHEN o.state = 'task' AND e.asks > 0 THEN CASE WHEN e.person THEN 'task-person' ELSE 'task-asked' END END;
            ELSE
                o.requests := o.requests + 1;
                IF e.kind = 'retry' THEN
                    next := 'runs';
                    awaits[at] := NULL;
                ELSIF e.brings_input AND o.state IN ('task-asked', 'task-person') THEN
                    next := 'task';
                END IF;
            END IF;
            IF e.closes THEN
                open_call := (open_call || e.call)[greatest(cardinality(open_call) - 1022, 1):];
                open_first := (open_first || o.seq)[greatest(cardinality(open_first) - 1022, 1):];
            END IF;
            seq := e.call;
            operation_seq := o.seq;
            t_us := e.t_us;
            SELECT NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL
                INTO requests, asked, status, closing_seq, error_code, duration_us, server_us, person_us;
            RETURN NEXT;
        ELSIF e.what = 'end' AND e.kind IN ('asks', 'starts') AND e.status = 'ok' THEN
            o.asked := o.asked + e.asks;
            o.server_us := least(o.server_us + (t - e.t_us), most);
            o.state := 'runs';
            awaits[at] := o.direction || ' ' || e.awaits;
            next := CASE WHEN e.kind = 'asks' THEN CASE WHEN e.person THEN 'asked-person' ELSE 'asked' END
                WHEN e.task_status <> 'open' THEN 'ended' WHEN e.asks = 0 THEN 'task' WHEN e.person THEN 'task-person' ELSE 'task-asked' END;
            o.status := CASE WHEN next = 'ended' THEN e.task_status ELSE o.status END;
        ELSIF e.what = 'end' AND NOT starts_with(coalesce(e.method, ''), 'tasks/') AND e.direction = o.direction THEN
            o.server_us := least(o.server_us + (t - e.t_us), most);
            next := 'ended';
            o.status := e.status;
            o.error_code := e.error_code;
        ELSIF e.what = 'end' AND e.direction <> o.direction THEN
            next := CASE WHEN o.state IN ('task-asked', 'task-person')
                AND e.method IN ('elicitation/create', 'sampling/createMessage', 'roots/list') THEN 'task' END;
        ELSIF e.what = 'end' AND e.method = 'tasks/result' THEN
            IF o.state <> 'ended' AND e.status IN ('ok', 'tool-error', 'error') THEN
                next := 'ended';
                o.status := e.status;
                o.error_code := e.error_code;
            ELSIF o.status = 'ok' AND e.status = 'tool-error' THEN  -- its task had ended: the result says whether the tool has failed
                o.status := e.status;
            END IF;
        ELSIF e.kind = 'state' AND o.state IN ('task', 'task-asked', 'task-person') THEN
            IF e.task_status <> 'open' THEN
                next := 'ended';
                o.status := e.task_status;
            ELSIF e.asks > 0 AND o.state = 'task' THEN
                next := CASE WHEN e.person THEN 'task-person' ELSE 'task-asked' END;
                o.asked := o.asked + e.asks;
            END IF;
        END IF;

        IF next IS NOT NULL THEN
            waited := greatest(t - o.since_us, 0);
            IF o.state IN ('asked-person', 'task-person') THEN
                o.person_us := least(o.person_us + waited, most);
            ELSIF o.state = 'task' THEN
                o.server_us := least(o.server_us + waited, most);
            END IF;
            IF next = 'ended' AND o.state <> 'ended' THEN
                awaits[at] := 'ended ' || awaits[at];   -- of tasks with one id, a request continues the one that goes on
            END IF;
            o.state := next;
            o.since_us := t;
            IF next = 'ended' THEN
                o.closing_seq := e.seq;
                o.duration_us := greatest(t - o.t_us, 0);
            END IF;
        END IF;
        kept[at] := o;
    END LOOP;
    FOR i IN n - least(n, 256) + 1 .. n LOOP
        o := kept[(i - 1) % 256 + 1];
        SELECT o.seq, NULL, o.t_us, o.requests, o.asked, o.status, o.closing_seq, o.error_code, o.duration_us, o.server_us, o.person_us
            INTO seq, operation_seq, t_us, requests, asked, status, closing_seq, error_code, duration_us, server_us, person_us;
        RETURN NEXT;
    END LOOP;
END $$;

-- ---- views ----

-- Their columns `seq` and `operation_seq` are of requests. The condition on the revision is for sessions of which it is not known
-- whether a message links something.
CREATE OR REPLACE VIEW operations WITH (security_invoker = true) AS
    SELECT s.uid AS session_uid, o.seq, at_us(add_us(s.started_at_us, o.t_us)) AS at, d.name AS device, s.host,
        s.name AS server, s.client_name AS client,
        (SELECT q.method FROM messages q WHERE q.session_uid = s.uid AND q.seq = o.seq) AS method,
        (SELECT q.target FROM messages q WHERE q.session_uid = s.uid AND q.seq = o.seq AND q.method = 'tools/call') AS tool,
        o.requests, o.asked, o.status, o.closing_seq, o.error_code, o.duration_us, o.server_us, o.person_us
    FROM sessions s
    JOIN devices d ON d.id = s.device
    CROSS JOIN LATERAL operations_in(s.uid, s.link_seq) AS o
    WHERE s.link_seq IS NOT NULL AND (s.link_seq <> 0 OR s.protocol_version COLLATE "C" >= '2025-11-25') AND s.pid <> 0
        AND o.operation_seq IS NULL;
COMMENT ON VIEW operations IS 'calls that were several requests, one row each';

CREATE OR REPLACE VIEW operation_requests WITH (security_invoker = true) AS
    SELECT s.uid AS session_uid, o.seq, o.operation_seq
    FROM sessions s
    CROSS JOIN LATERAL operations_in(s.uid, s.link_seq) AS o
    WHERE s.link_seq IS NOT NULL AND (s.link_seq <> 0 OR s.protocol_version COLLATE "C" >= '2025-11-25') AND s.pid <> 0
        AND o.operation_seq IS NOT NULL;
COMMENT ON VIEW operation_requests IS 'requests that continue an operation, one row each';

GRANT EXECUTE ON FUNCTION may_link(text), short_key(text), string_in(json), asks_in(json), link_of(text, text), links_in(text, bigint),
    operations_in(text, bigint) TO PUBLIC;
GRANT SELECT ON operations, operation_requests TO mcp_interposer_reader;
-- Whoever was given the other views before there were these reads them, too: they show no more than the tables.
DO $$
DECLARE
    reader name;
BEGIN
    FOR reader IN SELECT pg_get_userbyid(a.grantee) FROM pg_class c, aclexplode(c.relacl) AS a
            WHERE c.oid = 'mcp_interposer.calls'::regclass AND a.privilege_type = 'SELECT' AND a.grantee <> 0 LOOP
        EXECUTE format('GRANT SELECT ON mcp_interposer.operations, mcp_interposer.operation_requests TO %I', reader);
    END LOOP;
END $$;
