-- Functions of the central store. A device may run those that are granted to mcp_interposer_device, and nothing else.
-- Errors: MI001 not a device, MI002 the log or the number of calls is not the one that is known here, MI003 a record differs from what was
-- stored, MI004 send it again, MI005 of another device.

-- With more parameters since version 2. Older shippers leave them out.
DO $$
DECLARE
    f regprocedure;
BEGIN
    FOR f IN SELECT p.oid::regprocedure FROM pg_proc p WHERE p.pronamespace = 'mcp_interposer'::regnamespace
            AND (p.proname = 'put_sessions' AND NOT 'p_cwd' = ANY (p.proargnames)
                OR p.proname = 'put_messages' AND NOT 'p_revision' = ANY (p.proargnames)) LOOP
        EXECUTE 'DROP FUNCTION ' || f;
    END LOOP;
END $$;

-- ---- partitions ----

-- The first ten characters of a uid that is made at this time.
CREATE OR REPLACE FUNCTION uid_at(p_at timestamptz) RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT string_agg(substr('0123456789ABCDEFGHJKMNPQRSTVWXYZ',
                             ((extract(epoch FROM p_at) * 1000)::bigint >> (5 * d) & 31)::int + 1, 1), '' ORDER BY d DESC)
    FROM generate_series(0, 9) AS d
$$;

-- Makes the partition of a month, unless it exists, and moves the rows of this month that are in the partition for all others. Readers of
-- all months wait meanwhile; so it must not wait for the lock as long as a device likes, whose transaction may be open.
DROP FUNCTION IF EXISTS make_partition(text, timestamp, boolean);
CREATE OR REPLACE FUNCTION make_partition(p_parent text, p_month timestamp) RETURNS boolean
LANGUAGE plpgsql SET search_path = mcp_interposer, pg_temp SET lock_timeout = '5s' AS $$
DECLARE
    part text := p_parent || to_char(p_month, '_YYYY_MM');
    other text := p_parent || '_other';
    low text := uid_at(p_month AT TIME ZONE 'UTC');
    high text := uid_at((p_month + interval '1 month') AT TIME ZONE 'UTC');
    found boolean;
    columns text;
BEGIN
    IF to_regclass('mcp_interposer.' || part) IS NOT NULL THEN
        RETURN false;
    END IF;
    EXECUTE format('LOCK TABLE %I IN ACCESS EXCLUSIVE MODE', other);
    EXECUTE format('SELECT EXISTS (SELECT FROM %I WHERE session_uid >= %L AND session_uid < %L)', other, low, high) INTO found;
    EXECUTE format('CREATE TABLE mcp_interposer.%I (LIKE %I INCLUDING ALL)', part, p_parent);
    IF found THEN
        SELECT string_agg(quote_ident(attname), ', ' ORDER BY attnum) INTO columns FROM pg_attribute
            WHERE attrelid = p_parent::regclass AND attnum > 0 AND NOT attisdropped AND attgenerated = '';
        EXECUTE format('WITH moved AS (DELETE FROM %I WHERE session_uid >= %L AND session_uid < %L RETURNING %s)
            INSERT INTO %I (%s) SELECT * FROM moved', other, low, high, columns, part, columns);
    END IF;
    -- CREATE TABLE … PARTITION OF would lock the parent
    EXECUTE format('ALTER TABLE %I ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)', p_parent, part, low, high);
    RETURN true;
END $$;

-- Makes the partitions of these months and of those in between. Returns how many were missing.
DROP FUNCTION IF EXISTS make_partitions(timestamptz, timestamptz, boolean);
CREATE OR REPLACE FUNCTION make_partitions(p_from timestamptz, p_to timestamptz) RETURNS integer
LANGUAGE sql SET search_path = mcp_interposer, pg_temp AS $$
    SELECT count(*) FILTER (WHERE make_partition(parent, month))::integer
    FROM generate_series(date_trunc('month', p_from AT TIME ZONE 'UTC'), p_to AT TIME ZONE 'UTC', '1 month') AS month,
        unnest(ARRAY['messages', 'events', 'call_rows']) AS parent
$$;

-- Drops the partitions whose month ended before this time. Rows for which there was no month stay.
CREATE OR REPLACE FUNCTION drop_months(p_before timestamptz) RETURNS SETOF text
LANGUAGE plpgsql SET search_path = mcp_interposer, pg_temp SET lock_timeout = '5s' AS $$
DECLARE
    part record;
BEGIN
    PERFORM pg_advisory_xact_lock(hashtext('mcp_interposer partitions'));
    FOR part IN
        SELECT c.relname AS name, p.relname AS parent
        FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid JOIN pg_class p ON p.oid = i.inhparent
        WHERE i.inhparent IN ('messages'::regclass, 'events'::regclass, 'call_rows'::regclass) AND c.relname ~ '_[0-9]{4}_[0-9]{2}$'
            AND (to_date(right(c.relname, 7), 'YYYY_MM') + interval '1 month') AT TIME ZONE 'UTC' <= p_before
        ORDER BY right(c.relname, 7), p.relname DESC
    LOOP
        EXECUTE format('ALTER TABLE mcp_interposer.%I DETACH PARTITION mcp_interposer.%I', part.parent, part.name);
        EXECUTE format('DROP TABLE mcp_interposer.%I', part.name);
        RETURN NEXT part.name;
    END LOOP;
END $$;

-- ---- devices ----

-- The device of the login role.
CREATE OR REPLACE FUNCTION my_device() RETURNS bigint
LANGUAGE plpgsql STABLE SET search_path = mcp_interposer, pg_temp AS $$
DECLARE
    me bigint := (SELECT id FROM devices WHERE role = session_user);
BEGIN
    IF me IS NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'MI001', MESSAGE = format('the role %I is not a device of this store; an '
            'administrator adds one with: mcp-interposer ship init URL --device NAME', session_user);
    END IF;
    RETURN me;
END $$;

-- Refuses a call with more than 16 MiB: a shipper sends about 4 MiB, and readers have the values of a row in memory.
CREATE OR REPLACE FUNCTION check_size(p_bytes bigint) RETURNS void
LANGUAGE plpgsql IMMUTABLE SET search_path = mcp_interposer, pg_temp AS $$
BEGIN
    IF p_bytes > 16 << 20 THEN
        RAISE EXCEPTION USING ERRCODE = '22023', MESSAGE = format('a call with %s bytes is too large', p_bytes);
    END IF;
END $$;

-- Locks the vault's row, counts the call, and checks that the sender knows the same log, and that all its calls before
-- are here: a failover to a standby may have lost some, even if the sender's connection did not end.
CREATE OR REPLACE FUNCTION use_vault(p_vault text, p_head bytea, p_calls bigint) RETURNS bigint
LANGUAGE plpgsql SET search_path = mcp_interposer, pg_temp AS $$
DECLARE
    me bigint := my_device();
    v vaults;
BEGIN
    UPDATE vaults SET calls = calls + 1 WHERE uid = p_vault RETURNING * INTO v;
    IF NOT FOUND OR v.device <> me THEN
        RAISE EXCEPTION USING ERRCODE = 'MI005', MESSAGE = format('the vault %s belongs to another device', p_vault);
    END IF;
    IF v.head <> p_head OR v.calls <> p_calls + 1 THEN
        RAISE EXCEPTION USING ERRCODE = 'MI002', MESSAGE = 'the store has changed since its state was read';
    END IF;
    RETURN me;
END $$;

CREATE OR REPLACE FUNCTION use_session(p_vault text, p_head bytea, p_calls bigint, p_session text) RETURNS sessions
LANGUAGE plpgsql SET search_path = mcp_interposer, pg_temp AS $$
DECLARE
    s sessions;
BEGIN
    PERFORM use_vault(p_vault, p_head, p_calls);
    SELECT * INTO s FROM sessions WHERE uid = p_session AND vault = p_vault;
    IF NOT FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'MI005', MESSAGE = format('the session %s is not of this vault', p_session);
    END IF;
    RETURN s;
END $$;

-- ---- a connection ----

-- Remains as it is in all later versions of this schema.
CREATE OR REPLACE FUNCTION hello(p_client integer, OUT version integer, OUT oldest_client integer, OUT device text)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = mcp_interposer, pg_temp AS $$
BEGIN
    SELECT s.version, s.oldest_client INTO version, oldest_client FROM store s;
    SELECT d.name INTO device FROM devices d WHERE d.id = my_device();
    -- A device makes no partitions: until its transaction ends, nobody else could read.
    IF to_regclass('mcp_interposer.events' || to_char((now() + interval '1 month') AT TIME ZONE 'UTC', '_YYYY_MM')) IS NULL THEN
        RAISE WARNING 'the store has no partition for the next month: its administrator runs ship init';
    END IF;
END $$;
DROP FUNCTION IF EXISTS make_next_partitions();

CREATE OR REPLACE FUNCTION vault_state(p_vault text, p_host text, p_user text, OUT leaves bigint, OUT head bytea,
                                       OUT handled bigint, OUT checkpoint bigint, OUT calls bigint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = mcp_interposer, pg_temp AS $$
DECLARE
    me bigint := my_device();
    owner bigint;
BEGIN
    IF p_vault !~ '^[0-9A-HJKMNP-TV-Z]{26}$' THEN
        RAISE EXCEPTION USING ERRCODE = '22023', MESSAGE = 'invalid vault name';
    END IF;
    p_host := left(p_host, 255);
    p_user := left(p_user, 255);
    INSERT INTO vaults (uid, device, host, os_user) VALUES (p_vault, me, p_host, p_user) ON CONFLICT (uid) DO NOTHING;
    SELECT v.device INTO owner FROM vaults v WHERE v.uid = p_vault;
    IF owner <> me THEN
        RAISE EXCEPTION USING ERRCODE = 'MI005', MESSAGE = format('the vault %s belongs to another device', p_vault);
    END IF;
    UPDATE vaults v SET last_at = now(), host = p_host, os_user = p_user WHERE v.uid = p_vault
        RETURNING v.leaves, v.head, v.handled, v.calls INTO leaves, head, handled, calls;
    SELECT coalesce(max(c.size), 0) INTO checkpoint FROM checkpoints c WHERE c.vault = p_vault;
END $$;

CREATE OR REPLACE FUNCTION watermarks(p_vault text, p_after text, p_limit integer)
RETURNS TABLE (uid text, seq bigint, event bigint, row_hash bigint)
LANGUAGE plpgsql SECURITY DEFINER STABLE SET search_path = mcp_interposer, pg_temp AS $$
DECLARE
    me bigint := my_device();
BEGIN
    RETURN QUERY SELECT s.uid, s.seq, s.event, s.row_hash FROM sessions s
        WHERE s.vault = p_vault AND s.device = me AND s.uid > p_after ORDER BY s.uid LIMIT p_limit;
END $$;

-- ---- the log ----

-- Adds leaves after those that are here. p_head: the hash of the log before them.
CREATE OR REPLACE FUNCTION put_leaves(p_vault text, p_head bytea, p_calls bigint, p_leaf text[], OUT leaves bigint, OUT head bytea)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = mcp_interposer, pg_temp AS $$
DECLARE
    one text;
BEGIN
    PERFORM use_vault(p_vault, p_head, p_calls);
    PERFORM check_size(pg_column_size(p_leaf));
    IF EXISTS (SELECT FROM unnest(p_leaf) AS u (l) WHERE (l ~ '^\{"type":"[a-z]+"[^\\[:cntrl:]]*\}$') IS NOT TRUE OR octet_length(l) > 65536 OR l::json IS NULL) THEN
        RAISE EXCEPTION USING ERRCODE = '22023', MESSAGE = 'a text is not a leaf of a log';
    END IF;
    SELECT v.leaves, v.head INTO leaves, head FROM vaults v WHERE v.uid = p_vault;
    INSERT INTO leaves (vault, n, leaf) SELECT p_vault, put_leaves.leaves + i - 1, l FROM unnest(p_leaf) WITH ORDINALITY AS u (l, i);
    FOREACH one IN ARRAY p_leaf LOOP
        head := sha256(head || convert_to(one, 'UTF8'));
    END LOOP;
    leaves := leaves + cardinality(p_leaf);
    UPDATE vaults v SET leaves = put_leaves.leaves, head = put_leaves.head, last_at = now() WHERE v.uid = p_vault;
END $$;

CREATE OR REPLACE FUNCTION put_checkpoints(p_vault text, p_head bytea, p_calls bigint, p_size bigint[], p_at_us bigint[], p_note text[])
RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = mcp_interposer, pg_temp AS $$
BEGIN
    PERFORM use_vault(p_vault, p_head, p_calls);
    PERFORM check_size(pg_column_size(p_note));
    INSERT INTO checkpoints (vault, size, at_us, note)
        SELECT p_vault, u.* FROM unnest(p_size, p_at_us, p_note) AS u ON CONFLICT DO NOTHING;
END $$;

-- The first commitments of redacted records. The log must state the redaction.
CREATE OR REPLACE FUNCTION put_replaced(p_vault text, p_head bytea, p_calls bigint, p_session text, p_record text[], p_leaf bigint[],
                                        p_commitment bytea[])
RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = mcp_interposer, pg_temp AS $$
BEGIN
    PERFORM use_vault(p_vault, p_head, p_calls);
    PERFORM check_size(pg_column_size(p_record) + pg_column_size(p_commitment));
    IF EXISTS (SELECT FROM sessions WHERE uid = p_session AND vault <> p_vault) THEN
        RAISE EXCEPTION USING ERRCODE = 'MI005', MESSAGE = format('the session %s is not of this vault', p_session);
    END IF;
    IF EXISTS (SELECT FROM unnest(p_leaf) AS u (n) WHERE NOT EXISTS (
            SELECT FROM leaves l WHERE l.vault = p_vault AND l.n = u.n
                AND l.leaf::json ->> 'type' = 'redact' AND l.leaf::json ->> 'session' = p_session)) THEN
        RAISE EXCEPTION USING ERRCODE = 'MI003', MESSAGE = format('session %s: the log states no such redaction', p_session);
    END IF;
    INSERT INTO replaced (session_uid, record, leaf, commitment)
        SELECT p_session, u.* FROM unnest(p_record, p_leaf, p_commitment) AS u ON CONFLICT DO NOTHING;
END $$;

-- Redactions and removals of the leaves before p_n are complete here. p_pruned: sessions that were removed in the vault.
-- One of which not everything has arrived gets an event `gap`; how many records are lost is not known without a seal.
CREATE OR REPLACE FUNCTION put_handled(p_vault text, p_head bytea, p_calls bigint, p_n bigint, p_pruned text[])
RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = mcp_interposer, pg_temp AS $$
BEGIN
    PERFORM use_vault(p_vault, p_head, p_calls);
    IF cardinality(p_pruned) > 0 THEN
        INSERT INTO events (session_uid, id, t_us, kind, detail)
            SELECT u.uid, -1, 0, 'gap', json_build_object('reason', 'removed before it was sent', 'lost', u.stated - u.arrived)::text
            FROM (SELECT l.uid, l.stated, s.ended_at_us, coalesce(1 + s.received, 0) AS arrived
                FROM (SELECT leaf::json ->> 'session' AS uid,
                        max((leaf::json ->> 'records')::bigint) FILTER (WHERE leaf::json ->> 'type' = 'seal') AS stated,
                        bool_or(leaf::json ->> 'type' = 'prune') AS pruned
                    FROM leaves WHERE vault = p_vault AND (leaf LIKE '{"type":"seal"%' OR leaf LIKE '{"type":"prune"%')
                    GROUP BY 1) AS l
                LEFT JOIN sessions s ON s.uid = l.uid
                WHERE l.pruned AND l.uid = ANY (p_pruned) AND coalesce(s.vault, p_vault) = p_vault) AS u
            WHERE u.stated > u.arrived OR u.stated IS NULL AND u.ended_at_us IS NULL
            ON CONFLICT DO NOTHING;
        DELETE FROM pieces p USING sessions s WHERE p.session_uid = s.uid AND s.vault = p_vault AND s.uid = ANY (p_pruned);
    END IF;
    UPDATE vaults SET handled = greatest(handled, least(p_n, leaves)) WHERE uid = p_vault;
END $$;

-- ---- sessions ----

CREATE OR REPLACE FUNCTION put_sessions(p_vault text, p_head bytea, p_calls bigint, p_revision bigint, p_level text,
    p_id bigint[], p_uid text[], p_name text[], p_command text[], p_client_name text[], p_client_version text[],
    p_server_name text[], p_server_version text[], p_protocol_version text[], p_started_at_us bigint[],
    p_ended_at_us bigint[], p_end_reason text[], p_exit_status bigint[], p_pid bigint[], p_host text[],
    p_record_level text[], p_interposer_version text[], p_redact_rules text[], p_salt bytea[], p_commitment bytea[],
    p_end_salt bytea[], p_end_commitment bytea[], p_records bigint[], p_tree bytea[], p_row_hash bigint[],
    p_cwd text[] DEFAULT NULL, p_tools_rule text[] DEFAULT NULL)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = mcp_interposer, pg_temp AS $$
DECLARE
    me bigint := use_vault(p_vault, p_head, p_calls);
    other text;
BEGIN
    PERFORM check_size(pg_column_size((p_name, p_command, p_client_name, p_client_version, p_server_name, p_server_version,
        p_protocol_version, p_end_reason, p_host, p_record_level, p_interposer_version, p_redact_rules, p_salt, p_commitment,
        p_end_salt, p_end_commitment, p_tree)));
    IF EXISTS (SELECT FROM unnest(p_uid) AS u (uid) WHERE (uid ~ '^[0-9A-HJKMNP-TV-Z]{26}$') IS NOT TRUE)
            OR (p_level IN ('full', 'minimal')) IS NOT TRUE THEN
        RAISE EXCEPTION USING ERRCODE = '22023', MESSAGE = 'not the uid of a session, or not a level';
    END IF;
    SELECT s.uid INTO other FROM sessions s WHERE s.uid = ANY (p_uid) AND s.vault <> p_vault LIMIT 1;
    IF other IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'MI005', MESSAGE = format('session %s was stored from another vault', other);
    END IF;
    SELECT s.uid INTO other FROM sessions s JOIN unnest(p_uid, p_commitment) AS u (uid, commitment) USING (uid)
        WHERE s.commitment IS DISTINCT FROM u.commitment AND NOT EXISTS (
            SELECT FROM replaced r WHERE r.session_uid = s.uid AND r.record = 'session'
                AND r.commitment IN (s.commitment, u.commitment)) LIMIT 1;
    IF other IS NULL THEN
        SELECT s.uid INTO other FROM sessions s JOIN unnest(p_uid, p_end_commitment, p_records) AS u (uid, commitment, records) USING (uid)
            WHERE s.end_commitment IS NOT NULL AND s.revision <= p_revision
                AND (s.end_commitment, s.records) IS DISTINCT FROM (u.commitment, u.records)
                AND NOT end_is_stated(p_vault, s.uid, s.end_commitment, u.commitment, u.records) LIMIT 1;
    END IF;
    IF other IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'MI003', MESSAGE = format('the session %s differs from the one that was stored', other);
    END IF;
    -- What `commitment` covers changes with a redaction only. Another device may have inserted a session since it was checked.
    UPDATE sessions s SET name = u.name, command = u.command, host = u.host, redact_rules = u.redact_rules, salt = u.salt,
            commitment = u.commitment, cwd = u.cwd, tools_rule = u.tools_rule
        FROM unnest(p_uid, p_name, p_command, p_host, p_redact_rules, p_salt, p_commitment, p_cwd, p_tools_rule)
            AS u (uid, name, command, host, redact_rules, salt, commitment, cwd, tools_rule)
        WHERE s.uid = u.uid AND s.vault = p_vault AND s.commitment IS DISTINCT FROM u.commitment AND s.revision <= p_revision;
    INSERT INTO sessions (id, uid, name, command, client_name, client_version, server_name, server_version,
            protocol_version, started_at_us, ended_at_us, end_reason, exit_status, pid, host, record_level,
            interposer_version, redact_rules, salt, commitment, end_salt, end_commitment, records, tree, row_hash, cwd,
            tools_rule, vault, device, shipped_level, revision)
        SELECT u.*, p_vault, me, p_level, p_revision
        FROM unnest(p_id, p_uid, p_name, p_command, p_client_name, p_client_version, p_server_name, p_server_version,
            p_protocol_version, p_started_at_us, p_ended_at_us, p_end_reason, p_exit_status, p_pid, p_host,
            p_record_level, p_interposer_version, p_redact_rules, p_salt, p_commitment, p_end_salt, p_end_commitment,
            p_records, p_tree, p_row_hash, p_cwd, p_tools_rule) AS u
        -- what `end_commitment` and a seal cover changes with them only
        ON CONFLICT (uid) DO UPDATE SET (client_name, client_version, server_name, server_version, protocol_version,
            ended_at_us, end_reason, exit_status, end_salt, end_commitment, records, tree)
        = (excluded.client_name, excluded.client_version, excluded.server_name, excluded.server_version,
            excluded.protocol_version, excluded.ended_at_us, excluded.end_reason, excluded.exit_status, excluded.end_salt,
            excluded.end_commitment, excluded.records, excluded.tree)
        WHERE sessions.vault = p_vault AND sessions.revision <= excluded.revision
            AND (sessions.end_commitment IS NULL
                OR (sessions.end_commitment, sessions.records) IS DISTINCT FROM (excluded.end_commitment, excluded.records));
    UPDATE sessions s SET row_hash = u.row_hash, revision = p_revision,
            shipped_level = CASE WHEN s.shipped_level = 'minimal' THEN 'minimal' ELSE p_level END
        FROM unnest(p_uid, p_row_hash) AS u (uid, row_hash)
        WHERE s.uid = u.uid AND s.vault = p_vault AND s.revision <= p_revision
            AND (s.row_hash, s.revision, s.shipped_level) IS DISTINCT FROM (u.row_hash, p_revision, p_level);
END $$;

-- ---- messages and events ----

-- A piece of a large body, from byte `at` on.
CREATE OR REPLACE FUNCTION put_piece(p_vault text, p_head bytea, p_calls bigint, p_session text, p_seq bigint, p_at bigint, p_piece bytea)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = mcp_interposer, pg_temp AS $$
BEGIN
    PERFORM use_session(p_vault, p_head, p_calls, p_session);
    IF (length(p_piece) <= 1 << 20 AND p_at BETWEEN 0 AND 1 << 30) IS NOT TRUE THEN
        RAISE EXCEPTION USING ERRCODE = '22023', MESSAGE = format('message %s of %s: its body is too large', p_seq, p_session);
    END IF;
    IF p_at = 0 THEN
        DELETE FROM pieces WHERE session_uid = p_session AND seq = p_seq;
    END IF;
    INSERT INTO pieces (session_uid, seq, at, piece) VALUES (p_session, p_seq, p_at, p_piece)
        ON CONFLICT (session_uid, seq, at) DO UPDATE SET piece = excluded.piece;
END $$;

CREATE OR REPLACE FUNCTION take_pieces(p_session text, p_seq bigint, p_length bigint) RETURNS text
LANGUAGE plpgsql SET search_path = mcp_interposer, pg_temp AS $$
DECLARE
    whole bytea;
BEGIN
    SELECT string_agg(piece, ''::bytea ORDER BY at) INTO whole FROM pieces WHERE session_uid = p_session AND seq = p_seq;
    IF whole IS NULL OR length(whole) <> p_length THEN
        RAISE EXCEPTION USING ERRCODE = 'MI004', MESSAGE = format('message %s of %s: its body is not complete', p_seq, p_session);
    END IF;
    DELETE FROM pieces WHERE session_uid = p_session AND seq = p_seq;
    RETURN convert_from(whole, 'UTF8');
EXCEPTION WHEN character_not_in_repertoire THEN
    DELETE FROM pieces WHERE session_uid = p_session AND seq = p_seq;
    RETURN NULL;
END $$;

-- Messages of one session, in ascending order of seq. Returns up to which one they are here. p_large: the length of a
-- body that was sent in pieces.
CREATE OR REPLACE FUNCTION put_messages(p_vault text, p_head bytea, p_calls bigint, p_session text,
    p_seq bigint[], p_t_us bigint[], p_direction text[], p_origin text[], p_kind text[], p_rpc_id text[],
    p_method text[], p_target text[], p_body text[], p_large bigint[], p_size bigint[], p_redactions bigint[],
    p_action text[], p_request_seq bigint[], p_error_code bigint[], p_batch_seq bigint[], p_finding text[],
    p_salt bytea[], p_commitment bytea[], p_offset bigint[], p_words tsvector[], p_revision text[] DEFAULT NULL)
RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER SET search_path = mcp_interposer, pg_temp AS $$
DECLARE
    s sessions := use_session(p_vault, p_head, p_calls, p_session);
    before bigint := s.seq;     -- rows up to it are here, or were dropped
    added bigint;
    watermark bigint;
    bodies text[] := p_body;
BEGIN
    PERFORM check_size(pg_column_size((p_direction, p_origin, p_kind, p_rpc_id, p_method, p_target, p_body, p_action, p_finding,
        p_salt, p_commitment, p_words)));
    IF EXISTS (SELECT FROM unnest(p_large, p_offset) AS u (large, at) WHERE large IS NOT NULL AND at IS NULL) THEN
        RAISE EXCEPTION USING ERRCODE = '22023', MESSAGE = 'a large body without its offset';
    END IF;
    FOR i IN 1 .. cardinality(p_seq) LOOP
        IF p_large[i] IS NOT NULL AND (p_seq[i] > before OR EXISTS (SELECT FROM messages m WHERE m.session_uid = p_session
                AND m.seq = p_seq[i] AND m.commitment IS DISTINCT FROM p_commitment[i])) THEN
            bodies[i] := take_pieces(p_session, p_seq[i], p_large[i]);
        END IF;
    END LOOP;
    INSERT INTO messages (session_uid, seq, t_us, direction, origin, kind, rpc_id, method, target, body, size,
            redactions, action, request_seq, error_code, batch_seq, finding, salt, commitment, body_offset, words, revision)
        SELECT p_session, u.* FROM unnest(p_seq, p_t_us, p_direction, p_origin, p_kind, p_rpc_id, p_method, p_target,
            bodies, p_size, p_redactions, p_action, p_request_seq, p_error_code, p_batch_seq, p_finding, p_salt,
            p_commitment, p_offset, p_words, p_revision) AS u (seq)
        WHERE u.seq > before
        ON CONFLICT DO NOTHING;
    GET DIAGNOSTICS added = ROW_COUNT;
    IF added < cardinality(p_seq) THEN
        PERFORM change_messages(p_session, p_seq, p_method, p_target, bodies, p_redactions, p_finding, p_salt, p_commitment,
            p_offset, p_words);
    END IF;
    UPDATE sessions SET seq = greatest(seq, (SELECT max(u) FROM unnest(p_seq) AS u)), received = received + added,
            link_seq = least(link_seq, (SELECT min(u.seq) FROM unnest(p_seq, p_kind, bodies) AS u (seq, kind, body)
                WHERE u.kind = 'result' AND may_link(u.body)))
        WHERE uid = p_session RETURNING seq INTO watermark;
    IF watermark > before AND s.call_seq IS NULL THEN
        PERFORM add_calls(p_session, before, watermark);
    END IF;
    DELETE FROM pieces WHERE session_uid = p_session AND seq <= watermark;
    RETURN watermark;
END $$;

-- Of messages that are here: applies redactions that the log states, and findings that were added later. Any other
-- difference is refused.
CREATE OR REPLACE FUNCTION change_messages(p_session text, p_seq bigint[], p_method text[], p_target text[], p_body text[],
    p_redactions bigint[], p_finding text[], p_salt bytea[], p_commitment bytea[], p_offset bigint[], p_words tsvector[])
RETURNS void LANGUAGE plpgsql SET search_path = mcp_interposer, pg_temp AS $$
DECLARE
    other bigint;
BEGIN
    UPDATE messages m SET method = u.method, target = u.target, body = u.body, redactions = u.redactions,
            finding = u.finding, salt = u.salt, commitment = u.commitment, body_offset = u.body_offset, words = u.words
        FROM unnest(p_seq, p_method, p_target, p_body, p_redactions, p_finding, p_salt, p_commitment, p_offset, p_words)
            AS u (seq, method, target, body, redactions, finding, salt, commitment, body_offset, words)
        WHERE m.session_uid = p_session AND m.seq = u.seq AND m.commitment IS DISTINCT FROM u.commitment
            AND was_replaced(p_session, 'message ' || u.seq, m.commitment)
            AND NOT was_replaced(p_session, 'message ' || u.seq, u.commitment);
    UPDATE messages m SET finding = u.finding
        FROM unnest(p_seq, p_finding, p_commitment) AS u (seq, finding, commitment)
        WHERE m.session_uid = p_session AND m.seq = u.seq AND m.commitment IS NOT DISTINCT FROM u.commitment
            AND (m.finding IS NULL AND u.finding IS NOT NULL OR starts_with(u.finding, m.finding || ','));
    SELECT m.seq INTO other FROM messages m JOIN unnest(p_seq, p_commitment) AS u (seq, commitment) USING (seq)
        WHERE m.session_uid = p_session AND m.commitment IS DISTINCT FROM u.commitment
            AND NOT was_replaced(p_session, 'message ' || u.seq, u.commitment) LIMIT 1;
    IF other IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'MI003',
            MESSAGE = format('message %s of session %s differs from the one that was stored', other, p_session);
    END IF;
    PERFORM change_calls(p_session, p_seq);
END $$;

CREATE OR REPLACE FUNCTION was_replaced(p_session text, p_record text, p_commitment bytea) RETURNS boolean
LANGUAGE sql STABLE SET search_path = mcp_interposer, pg_temp AS $$
    SELECT EXISTS (SELECT FROM replaced r WHERE r.session_uid = p_session AND r.record = p_record
        AND r.commitment = p_commitment)
$$;

-- Whether the log states the end of a session: in its last seal, or by a redaction of the end that is stored (p_was).
CREATE OR REPLACE FUNCTION end_is_stated(p_vault text, p_session text, p_was bytea, p_end bytea, p_records bigint) RETURNS boolean
LANGUAGE sql STABLE SET search_path = mcp_interposer, pg_temp AS $$
    SELECT coalesce((SELECT (l.leaf::json ->> 'records')::bigint = p_records AND (p_was = p_end
                    OR l.leaf::json ->> 'commitment' = encode(p_end, 'hex') OR was_replaced(p_session, 'end', p_was))
            FROM leaves l WHERE l.vault = p_vault AND substr(l.leaf, 27, 26) = p_session
                AND l.leaf LIKE '{"type":"seal","session":"%' ORDER BY l.n DESC LIMIT 1), false)
$$;

CREATE OR REPLACE FUNCTION put_events(p_vault text, p_head bytea, p_calls bigint, p_session text,
    p_id bigint[], p_t_us bigint[], p_kind text[], p_detail text[], p_place bigint[], p_salt bytea[], p_commitment bytea[])
RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER SET search_path = mcp_interposer, pg_temp AS $$
DECLARE
    before bigint := (use_session(p_vault, p_head, p_calls, p_session)).event;  -- rows up to it are here, or were dropped
    added bigint;
    watermark bigint;
    other bigint;
BEGIN
    PERFORM check_size(pg_column_size((p_kind, p_detail, p_salt, p_commitment)));
    UPDATE events e SET detail = u.detail, salt = u.salt, commitment = u.commitment
        FROM unnest(p_id, p_detail, p_place, p_salt, p_commitment) AS u (id, detail, place, salt, commitment)
        WHERE e.session_uid = p_session AND e.id = u.id AND e.commitment IS DISTINCT FROM u.commitment
            AND was_replaced(p_session, 'event ' || u.place, e.commitment)
            AND NOT was_replaced(p_session, 'event ' || u.place, u.commitment);
    INSERT INTO events (session_uid, id, t_us, kind, detail, place, salt, commitment)
        SELECT p_session, u.* FROM unnest(p_id, p_t_us, p_kind, p_detail, p_place, p_salt, p_commitment) AS u (id)
        WHERE u.id > before
        ON CONFLICT DO NOTHING;
    GET DIAGNOSTICS added = ROW_COUNT;
    SELECT e.id INTO other FROM events e JOIN unnest(p_id, p_place, p_commitment) AS u (id, place, commitment) USING (id)
        WHERE e.session_uid = p_session AND e.commitment IS DISTINCT FROM u.commitment
            AND NOT was_replaced(p_session, 'event ' || u.place, u.commitment) LIMIT 1;
    IF other IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'MI003',
            MESSAGE = format('event %s of session %s differs from the one that was stored', other, p_session);
    END IF;
    UPDATE sessions SET event = greatest(event, p_id[cardinality(p_id)]), received = received + added WHERE uid = p_session
        RETURNING event INTO watermark;
    RETURN watermark;
END $$;

-- ---- rights ----

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA mcp_interposer FROM PUBLIC;
GRANT EXECUTE ON FUNCTION uid_at(timestamptz) TO PUBLIC;
DO $$
DECLARE
    f regprocedure;
BEGIN
    FOR f IN SELECT p.oid::regprocedure FROM pg_proc p WHERE p.pronamespace = 'mcp_interposer'::regnamespace AND p.prosecdef LOOP
        EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO mcp_interposer_device', f);
    END LOOP;
    PERFORM mcp_interposer.limit_idling(role) FROM mcp_interposer.devices;
    -- 12 months back for what is in vaults already; of calls, the months of the messages that are here
    PERFORM mcp_interposer.make_partitions(now() - interval '12 months', now() + interval '24 months');
    PERFORM mcp_interposer.make_partition('call_rows', to_date(right(c.relname, 7), 'YYYY_MM')) FROM pg_inherits i
        JOIN pg_class c ON c.oid = i.inhrelid
        WHERE i.inhparent = 'mcp_interposer.messages'::regclass AND c.relname ~ '_[0-9]{4}_[0-9]{2}$';
END $$;
