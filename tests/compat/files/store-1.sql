BEGIN;
-- What a central store of mcp-interposer and a router (ship/shards) begin with: the roles, and their devices.
-- PostgreSQL 15 or later. Run this text and what follows as the owner of the database, who may create roles, in one
-- transaction. It can be run again at any time: it makes what is missing, and changes nothing else.

DO $$
BEGIN
    IF current_setting('server_version_num')::int < 150000 THEN
        RAISE EXCEPTION 'PostgreSQL % is too old: 15 or later is needed', current_setting('server_version');
    END IF;
    IF getdatabaseencoding() <> 'UTF8' THEN
        RAISE EXCEPTION 'the database has the encoding %: UTF8 is needed', getdatabaseencoding();
    END IF;
    PERFORM pg_advisory_xact_lock(hashtext('mcp_interposer'));
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'mcp_interposer_device') THEN
        CREATE ROLE mcp_interposer_device NOLOGIN;
    END IF;
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'mcp_interposer_reader') THEN
        CREATE ROLE mcp_interposer_reader NOLOGIN;
    END IF;
END $$;

SET LOCAL client_min_messages = warning;
CREATE SCHEMA IF NOT EXISTS mcp_interposer;
SET LOCAL search_path = mcp_interposer, pg_temp;

-- p_name: of the device, in the table `devices`. p_role: its login role, which is made if it is missing.
CREATE OR REPLACE FUNCTION add_device(p_name text, p_role name DEFAULT NULL) RETURNS name
LANGUAGE plpgsql SET search_path = mcp_interposer, pg_temp AS $$
DECLARE
    login name := coalesce(p_role, p_name::name);
BEGIN
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = login) THEN
        EXECUTE format('CREATE ROLE %I LOGIN', login);
    END IF;
    IF NOT pg_has_role(login, 'mcp_interposer_device', 'USAGE') THEN
        EXECUTE format('GRANT mcp_interposer_device TO %I', login);
    END IF;
    INSERT INTO devices (name, role) VALUES (p_name, login) ON CONFLICT (name) DO UPDATE SET role = excluded.role;
    RETURN login;
END $$;
-- The central store of mcp-interposer: tables and rights. docs/fleet-schema.md describes it. It is run after begin.sql.

DO $$
BEGIN
    IF to_regclass('mcp_interposer.placements') IS NOT NULL THEN
        RAISE EXCEPTION 'this database is the router of several stores: use ship init --shards FILE';
    END IF;
END $$;

-- One row. `version` is that of this text, `oldest_client` the oldest mcp-interposer-ship that may send.
CREATE TABLE IF NOT EXISTS store (
    one boolean PRIMARY KEY DEFAULT true CHECK (one),
    version integer NOT NULL,
    oldest_client integer NOT NULL,
    partitions_at timestamptz NOT NULL DEFAULT '-infinity'  -- when a connection last tried to make partitions
);
DO $$
DECLARE
    found integer := (SELECT version FROM mcp_interposer.store);
BEGIN
    IF found > 1 THEN
        RAISE EXCEPTION 'the schema has version %, which is newer than 1: use a newer mcp-interposer-ship', found;
    END IF;
    INSERT INTO mcp_interposer.store (version, oldest_client) VALUES (1, 1)
        ON CONFLICT (one) DO UPDATE SET version = excluded.version, oldest_client = excluded.oldest_client;
END $$;

CREATE TABLE IF NOT EXISTS devices (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text NOT NULL UNIQUE,
    role name NOT NULL UNIQUE,          -- the login role
    added_at timestamptz NOT NULL DEFAULT now()
);

-- `head` is the hash of the log so far: SHA-256(head of the leaves before || leaf), 32 zeros for an empty log.
CREATE TABLE IF NOT EXISTS vaults (
    uid text COLLATE "C" PRIMARY KEY,
    device bigint NOT NULL REFERENCES devices,
    host text,
    os_user text,
    leaves bigint NOT NULL DEFAULT 0,
    head bytea NOT NULL DEFAULT decode(repeat('00', 32), 'hex'),
    handled bigint NOT NULL DEFAULT 0,  -- leaves whose redactions and removals are complete here
    calls bigint NOT NULL DEFAULT 0,    -- that have changed something: fewer than a shipper made, if some were lost
    first_at timestamptz NOT NULL DEFAULT now(),
    last_at timestamptz NOT NULL DEFAULT now()
) WITH (fillfactor = 50);

CREATE TABLE IF NOT EXISTS leaves (
    vault text COLLATE "C" NOT NULL,
    n bigint NOT NULL,
    leaf text NOT NULL,
    PRIMARY KEY (vault, n)
);
-- The seals of a session (docs/evidence.md): its uid follows these 26 characters.
CREATE INDEX IF NOT EXISTS leaves_by_session ON leaves (substr(leaf, 27, 26)) WHERE leaf LIKE '{"type":"seal","session":"%';

CREATE TABLE IF NOT EXISTS checkpoints (
    vault text COLLATE "C" NOT NULL,
    size bigint NOT NULL,
    at_us bigint NOT NULL,
    note text NOT NULL,
    PRIMARY KEY (vault, size)
);

-- Columns up to `tree` are those of the vault's table `sessions`; `id` is the number there.
CREATE TABLE IF NOT EXISTS sessions (
    uid text COLLATE "C" PRIMARY KEY,
    id bigint NOT NULL,
    name text NOT NULL,
    command text NOT NULL,
    client_name text, client_version text,
    server_name text, server_version text,
    protocol_version text,
    started_at_us bigint NOT NULL,
    ended_at_us bigint, end_reason text, exit_status bigint,
    pid bigint NOT NULL,
    host text NOT NULL,
    record_level text NOT NULL,
    interposer_version text NOT NULL,
    redact_rules text,
    salt bytea, commitment bytea,
    end_salt bytea, end_commitment bytea,
    records bigint, tree bytea,
    vault text COLLATE "C" NOT NULL REFERENCES vaults,
    device bigint NOT NULL REFERENCES devices,
    shipped_level text NOT NULL,        -- full, or minimal: without bodies
    revision bigint NOT NULL,           -- leaves of the vault's log when this row was read
    row_hash bigint NOT NULL,           -- the shipper's, of the row
    seq bigint NOT NULL DEFAULT 0,      -- messages up to this one are here, or were
    event bigint NOT NULL DEFAULT 0,    -- events up to this id are here, or were
    received bigint NOT NULL DEFAULT 0  -- how many messages and events have arrived
) WITH (fillfactor = 80);
CREATE INDEX IF NOT EXISTS sessions_by_vault ON sessions (vault, uid);
CREATE INDEX IF NOT EXISTS sessions_by_name ON sessions (name, uid);
CREATE INDEX IF NOT EXISTS sessions_by_id ON sessions (id);

-- Columns as in the vault. A large body is in `body`, too. `words` has the words of the body, as the search finds them
-- (vault/search/words.h); it is NULL if there is no body. A uid begins with its time, so partitions are ranges of time.
CREATE TABLE IF NOT EXISTS messages (
    session_uid text COLLATE "C" NOT NULL,
    seq bigint NOT NULL,
    t_us bigint NOT NULL,
    direction text NOT NULL,
    origin text NOT NULL,
    kind text NOT NULL,
    rpc_id text, method text, target text,
    body text,
    body_offset bigint,                 -- of a large body, in the vault
    size bigint NOT NULL,
    redactions bigint NOT NULL,
    action text NOT NULL,
    request_seq bigint,
    error_code bigint,
    batch_seq bigint,
    finding text,
    salt bytea, commitment bytea,
    words tsvector,
    PRIMARY KEY (session_uid, seq)
) PARTITION BY RANGE (session_uid);
CREATE INDEX IF NOT EXISTS messages_words ON messages USING gin (words);

-- `id` as in the vault; -1: made here, for a session that was removed there before all of it was sent.
CREATE TABLE IF NOT EXISTS events (
    session_uid text COLLATE "C" NOT NULL,
    id bigint NOT NULL,
    t_us bigint NOT NULL,
    kind text NOT NULL,
    detail text,
    place bigint,
    salt bytea, commitment bytea,
    PRIMARY KEY (session_uid, id)
) PARTITION BY RANGE (session_uid);

CREATE TABLE IF NOT EXISTS messages_other PARTITION OF messages DEFAULT;
CREATE TABLE IF NOT EXISTS events_other PARTITION OF events DEFAULT;

-- First commitments of redacted records (docs/evidence.md).
CREATE TABLE IF NOT EXISTS replaced (
    session_uid text COLLATE "C" NOT NULL,
    record text NOT NULL,
    leaf bigint NOT NULL,
    commitment bytea NOT NULL,
    PRIMARY KEY (session_uid, record, leaf)
);

-- Pieces of a large body, until its message arrives.
CREATE TABLE IF NOT EXISTS pieces (
    session_uid text COLLATE "C" NOT NULL,
    seq bigint NOT NULL,
    at bigint NOT NULL,
    piece bytea NOT NULL,
    PRIMARY KEY (session_uid, seq, at)
);
ALTER TABLE pieces ALTER COLUMN piece SET STORAGE EXTERNAL;

-- Who may read what of which device, besides the members of mcp_interposer_reader.
CREATE TABLE IF NOT EXISTS readers (
    role name NOT NULL,
    device bigint NOT NULL REFERENCES devices,
    PRIMARY KEY (role, device)
);

DO $$
DECLARE
    t text;
BEGIN
    FOREACH t IN ARRAY ARRAY['devices', 'vaults', 'leaves', 'checkpoints', 'sessions', 'messages', 'events', 'replaced', 'readers'] LOOP
        EXECUTE format('ALTER TABLE mcp_interposer.%I ENABLE ROW LEVEL SECURITY', t);
        EXECUTE format('DROP POLICY IF EXISTS all_rows ON mcp_interposer.%I', t);
        EXECUTE format('CREATE POLICY all_rows ON mcp_interposer.%I FOR SELECT TO mcp_interposer_reader USING (true)', t);
        EXECUTE format('GRANT SELECT ON mcp_interposer.%I TO mcp_interposer_reader', t);
    END LOOP;
END $$;
-- For roles that may read some devices only: GRANT SELECT ON these tables and the views, and a row in `readers` for each.
DROP POLICY IF EXISTS own_rows ON readers;
CREATE POLICY own_rows ON readers FOR SELECT USING (role = current_user);
DROP POLICY IF EXISTS own_rows ON devices;
CREATE POLICY own_rows ON devices FOR SELECT USING (id IN (SELECT device FROM mcp_interposer.readers WHERE role = current_user));
DROP POLICY IF EXISTS own_rows ON vaults;
CREATE POLICY own_rows ON vaults FOR SELECT USING (device IN (SELECT device FROM mcp_interposer.readers WHERE role = current_user));
DROP POLICY IF EXISTS own_rows ON leaves;
CREATE POLICY own_rows ON leaves FOR SELECT USING (vault IN (SELECT uid FROM mcp_interposer.vaults));
DROP POLICY IF EXISTS own_rows ON checkpoints;
CREATE POLICY own_rows ON checkpoints FOR SELECT USING (vault IN (SELECT uid FROM mcp_interposer.vaults));
DROP POLICY IF EXISTS own_rows ON replaced;
CREATE POLICY own_rows ON replaced FOR SELECT USING (EXISTS (SELECT FROM mcp_interposer.sessions s WHERE s.uid = session_uid));
DROP POLICY IF EXISTS own_rows ON sessions;
CREATE POLICY own_rows ON sessions FOR SELECT USING (device IN (SELECT device FROM mcp_interposer.readers WHERE role = current_user));
DROP POLICY IF EXISTS own_rows ON messages;
CREATE POLICY own_rows ON messages FOR SELECT USING (EXISTS (SELECT FROM mcp_interposer.sessions s WHERE s.uid = session_uid));
DROP POLICY IF EXISTS own_rows ON events;
CREATE POLICY own_rows ON events FOR SELECT USING (EXISTS (SELECT FROM mcp_interposer.sessions s WHERE s.uid = session_uid));
REVOKE ALL ON SCHEMA mcp_interposer FROM PUBLIC;
GRANT USAGE ON SCHEMA mcp_interposer TO mcp_interposer_device, mcp_interposer_reader;
-- Functions of the central store. A device may run those that are granted to mcp_interposer_device, and nothing else.
-- Errors: MI001 not a device, MI002 the log or the number of calls is not the one that is known here, MI003 a record differs from what was
-- stored, MI004 send it again, MI005 of another device.

-- ---- partitions ----

-- The first ten characters of a uid that is made at this time.
CREATE OR REPLACE FUNCTION uid_at(p_at timestamptz) RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT string_agg(substr('0123456789ABCDEFGHJKMNPQRSTVWXYZ',
                             ((extract(epoch FROM p_at) * 1000)::bigint >> (5 * d) & 31)::int + 1, 1), '' ORDER BY d DESC)
    FROM generate_series(0, 9) AS d
$$;

-- Makes the partition of a month, unless it exists. p_move: also when the partition for all others has rows of this
-- month, which are then moved; false: not then. Readers of all months wait meanwhile.
CREATE OR REPLACE FUNCTION make_partition(p_parent text, p_month timestamp, p_move boolean) RETURNS boolean
LANGUAGE plpgsql SET search_path = mcp_interposer, pg_temp AS $$
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
    IF found AND NOT p_move THEN
        RETURN false;
    END IF;
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
CREATE OR REPLACE FUNCTION make_partitions(p_from timestamptz, p_to timestamptz, p_move boolean DEFAULT true) RETURNS integer
LANGUAGE sql SET search_path = mcp_interposer, pg_temp AS $$
    SELECT count(*) FILTER (WHERE make_partition(parent, month, p_move))::integer
    FROM generate_series(date_trunc('month', p_from AT TIME ZONE 'UTC'), p_to AT TIME ZONE 'UTC', '1 month') AS month,
        unnest(ARRAY['messages', 'events']) AS parent
$$;

-- Drops the partitions whose month ended before this time. Rows for which there was no month stay.
CREATE OR REPLACE FUNCTION drop_months(p_before timestamptz) RETURNS SETOF text
LANGUAGE plpgsql SET search_path = mcp_interposer, pg_temp AS $$
DECLARE
    part record;
BEGIN
    PERFORM pg_advisory_xact_lock(hashtext('mcp_interposer partitions'));
    FOR part IN
        SELECT c.relname AS name, p.relname AS parent
        FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid JOIN pg_class p ON p.oid = i.inhparent
        WHERE i.inhparent IN ('messages'::regclass, 'events'::regclass) AND c.relname ~ '_[0-9]{4}_[0-9]{2}$'
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

-- Makes the partitions of the next months, at most one connection in ten minutes: while it waits for readers, others wait
-- behind it. It gives up before a deadlock is looked for (deadlock_timeout), so that nobody else has to.
CREATE OR REPLACE FUNCTION make_next_partitions() RETURNS void
LANGUAGE plpgsql SET search_path = mcp_interposer, pg_temp SET lock_timeout = '500ms' AS $$
BEGIN
    PERFORM FROM store WHERE partitions_at < now() - interval '10 minutes' FOR UPDATE SKIP LOCKED;
    IF FOUND THEN
        UPDATE store SET partitions_at = now();
        PERFORM make_partitions(now(), now() + interval '3 months', false);
    END IF;
EXCEPTION WHEN lock_not_available OR deadlock_detected OR duplicate_table THEN
    UPDATE store SET partitions_at = now();
END $$;

-- Remains as it is in all later versions of this schema.
CREATE OR REPLACE FUNCTION hello(p_client integer, OUT version integer, OUT oldest_client integer, OUT device text)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = mcp_interposer, pg_temp AS $$
BEGIN
    SELECT s.version, s.oldest_client INTO version, oldest_client FROM store s;
    SELECT d.name INTO device FROM devices d WHERE d.id = my_device();
    IF to_regclass('mcp_interposer.events' || to_char((now() + interval '2 months') AT TIME ZONE 'UTC', '_YYYY_MM')) IS NULL THEN
        PERFORM make_next_partitions();
    END IF;
END $$;

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
    IF EXISTS (SELECT FROM unnest(p_leaf) AS u (l) WHERE (l ~ '^\{"type":"[a-z]+"[^\\[:cntrl:]]*\}$') IS NOT TRUE OR l::json IS NULL) THEN
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
    INSERT INTO checkpoints (vault, size, at_us, note)
        SELECT p_vault, u.* FROM unnest(p_size, p_at_us, p_note) AS u ON CONFLICT DO NOTHING;
END $$;

-- The first commitments of redacted records. The log must state the redaction.
CREATE OR REPLACE FUNCTION put_replaced(p_vault text, p_head bytea, p_calls bigint, p_session text, p_record text[], p_leaf bigint[],
                                        p_commitment bytea[])
RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = mcp_interposer, pg_temp AS $$
BEGIN
    PERFORM use_vault(p_vault, p_head, p_calls);
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
    p_end_salt bytea[], p_end_commitment bytea[], p_records bigint[], p_tree bytea[], p_row_hash bigint[])
RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = mcp_interposer, pg_temp AS $$
DECLARE
    me bigint := use_vault(p_vault, p_head, p_calls);
    other text;
BEGIN
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
    IF other IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'MI003', MESSAGE = format('the session %s differs from the one that was stored', other);
    END IF;
    -- what `commitment` covers changes with a redaction only
    UPDATE sessions s SET name = u.name, command = u.command, host = u.host, redact_rules = u.redact_rules, salt = u.salt,
            commitment = u.commitment
        FROM unnest(p_uid, p_name, p_command, p_host, p_redact_rules, p_salt, p_commitment)
            AS u (uid, name, command, host, redact_rules, salt, commitment)
        WHERE s.uid = u.uid AND s.commitment IS DISTINCT FROM u.commitment AND s.revision <= p_revision;
    INSERT INTO sessions (id, uid, name, command, client_name, client_version, server_name, server_version,
            protocol_version, started_at_us, ended_at_us, end_reason, exit_status, pid, host, record_level,
            interposer_version, redact_rules, salt, commitment, end_salt, end_commitment, records, tree, row_hash,
            vault, device, shipped_level, revision)
        SELECT u.*, p_vault, me, p_level, p_revision
        FROM unnest(p_id, p_uid, p_name, p_command, p_client_name, p_client_version, p_server_name, p_server_version,
            p_protocol_version, p_started_at_us, p_ended_at_us, p_end_reason, p_exit_status, p_pid, p_host,
            p_record_level, p_interposer_version, p_redact_rules, p_salt, p_commitment, p_end_salt, p_end_commitment,
            p_records, p_tree, p_row_hash) AS u
        ON CONFLICT (uid) DO UPDATE SET (client_name, client_version, server_name, server_version, protocol_version,
            ended_at_us, end_reason, exit_status, end_salt, end_commitment, records, tree, row_hash, revision,
            shipped_level)
        = (excluded.client_name, excluded.client_version, excluded.server_name, excluded.server_version,
            excluded.protocol_version, excluded.ended_at_us, excluded.end_reason, excluded.exit_status, excluded.end_salt,
            excluded.end_commitment, excluded.records, excluded.tree, excluded.row_hash, excluded.revision,
            CASE WHEN sessions.shipped_level = 'minimal' THEN 'minimal' ELSE excluded.shipped_level END)
        WHERE sessions.vault = p_vault  -- another device may have inserted it since it was checked
            AND sessions.revision <= excluded.revision;
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
    p_salt bytea[], p_commitment bytea[], p_offset bigint[], p_words tsvector[])
RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER SET search_path = mcp_interposer, pg_temp AS $$
DECLARE
    before bigint := (use_session(p_vault, p_head, p_calls, p_session)).seq;    -- rows up to it are here, or were dropped
    added bigint;
    watermark bigint;
    bodies text[] := p_body;
BEGIN
    FOR i IN 1 .. cardinality(p_seq) LOOP
        IF p_large[i] IS NOT NULL AND (p_seq[i] > before OR EXISTS (SELECT FROM messages m WHERE m.session_uid = p_session
                AND m.seq = p_seq[i] AND m.commitment IS DISTINCT FROM p_commitment[i])) THEN
            bodies[i] := take_pieces(p_session, p_seq[i], p_large[i]);
        END IF;
    END LOOP;
    INSERT INTO messages (session_uid, seq, t_us, direction, origin, kind, rpc_id, method, target, body, size,
            redactions, action, request_seq, error_code, batch_seq, finding, salt, commitment, body_offset, words)
        SELECT p_session, u.* FROM unnest(p_seq, p_t_us, p_direction, p_origin, p_kind, p_rpc_id, p_method, p_target,
            bodies, p_size, p_redactions, p_action, p_request_seq, p_error_code, p_batch_seq, p_finding, p_salt,
            p_commitment, p_offset, p_words) AS u (seq)
        WHERE u.seq > before
        ON CONFLICT DO NOTHING;
    GET DIAGNOSTICS added = ROW_COUNT;
    IF added < cardinality(p_seq) THEN
        PERFORM change_messages(p_session, p_seq, p_method, p_target, bodies, p_redactions, p_finding, p_salt, p_commitment,
            p_offset, p_words);
    END IF;
    UPDATE sessions SET seq = greatest(seq, p_seq[cardinality(p_seq)]), received = received + added WHERE uid = p_session
        RETURNING seq INTO watermark;
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
END $$;

CREATE OR REPLACE FUNCTION was_replaced(p_session text, p_record text, p_commitment bytea) RETURNS boolean
LANGUAGE sql STABLE SET search_path = mcp_interposer, pg_temp AS $$
    SELECT EXISTS (SELECT FROM replaced r WHERE r.session_uid = p_session AND r.record = p_record
        AND r.commitment = p_commitment)
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
    -- 12 months back for what is in vaults already
    PERFORM mcp_interposer.make_partitions(now() - interval '12 months', now() + interval '12 months');
END $$;
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

-- As the view of the same name in a vault. One pass over the messages, with session_uid as a group, so that a condition on it
-- selects partitions: a join of the requests with their answers would read all partitions for the answers.
CREATE OR REPLACE VIEW invocations WITH (security_invoker = true) AS
    SELECT c.session_uid, c.request_seq, CASE WHEN NOT c.cancelled THEN c.response_seq END AS response_seq, c.method, c.target,
        CASE WHEN c.action = 'refused' THEN 'refused'
            WHEN c.closed_us IS NULL THEN 'open'
            WHEN c.cancelled THEN 'cancelled'
            WHEN c.closed_here AND c.finding LIKE '%server-gone%' THEN 'server-gone'
            WHEN c.closed_here AND c.finding LIKE '%interrupted%' THEN 'interrupted'
            WHEN c.closed_here AND c.finding LIKE '%timeout%' THEN 'timeout'
            WHEN c.failed THEN 'error'
            WHEN c.finding LIKE '%tool-error%' THEN 'tool-error'
            ELSE 'ok' END AS status,
        c.error_code, s.started_at_us + c.asked_us AS started_at_us, c.closed_us - c.asked_us AS duration_us,
        c.request_size, CASE WHEN NOT c.cancelled THEN c.response_size END AS response_size,
        s.name, s.host, s.device
    FROM (
        SELECT m.session_uid, CASE WHEN m.kind = 'request' THEN m.seq ELSE m.request_seq END AS request_seq,
            min(m.t_us) FILTER (WHERE m.kind = 'request') AS asked_us,
            min(m.method) FILTER (WHERE m.kind = 'request') AS method,
            min(m.target) FILTER (WHERE m.kind = 'request') AS target,
            min(m.size) FILTER (WHERE m.kind = 'request') AS request_size,
            min(m.action) FILTER (WHERE m.kind = 'request') AS action,
            min(m.t_us) FILTER (WHERE m.kind <> 'request') AS closed_us,
            min(m.seq) FILTER (WHERE m.kind <> 'request') AS response_seq,
            min(m.size) FILTER (WHERE m.kind <> 'request') AS response_size,
            min(m.finding) FILTER (WHERE m.kind <> 'request') AS finding,
            min(m.error_code) AS error_code,
            bool_or(m.kind = 'notification') AS cancelled,
            bool_or(m.kind = 'error') AS failed,
            bool_or(m.kind <> 'request' AND m.origin = 'interposer') AS closed_here
        FROM messages m
        WHERE m.kind = 'request' AND m.direction = 'c2s' AND m.origin = 'peer'
            OR m.request_seq IS NOT NULL AND m.action = 'forwarded'
            AND (m.direction = 's2c' AND m.kind IN ('result', 'error') OR m.direction = 'c2s' AND m.kind = 'notification')
        GROUP BY 1, 2) AS c
    JOIN sessions s ON s.uid = c.session_uid
    WHERE c.asked_us IS NOT NULL AND (c.closed_us IS NOT NULL OR c.action = 'forwarded');
COMMENT ON VIEW invocations IS 'requests of clients, one row each';

-- Calls of tools, as `mcp-interposer stats` counts them: those of imported sessions are left out.
CREATE OR REPLACE VIEW calls WITH (security_invoker = true) AS
    SELECT i.session_uid, i.request_seq AS seq, to_timestamp(i.started_at_us / 1e6::float8) AS at,
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
    SELECT m.session_uid, m.seq, to_timestamp((s.started_at_us + m.t_us) / 1e6::float8) AS at,
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
-- have them. Messages are not trusted: no body makes a query fail.
CREATE OR REPLACE FUNCTION tools_in(p_body text, OUT tools json, OUT last boolean)
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
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
    SELECT l.session_uid, to_timestamp((s.started_at_us + l.t_us) / 1e6::float8) AS at,
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
GRANT EXECUTE ON FUNCTION tools_in(text) TO PUBLIC;
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
-- the user of the vault, p_number is the id in the vault. NULL: any.
CREATE OR REPLACE FUNCTION read_sessions(p_host text, p_user text, p_name text, p_number bigint, p_first text,
    p_before text, p_backwards boolean, p_rows bigint)
RETURNS TABLE (vault text, uid text, number bigint, name text, command text, client_name text, client_version text,
    server_name text, server_version text, protocol_version text, started_at_us bigint, ended_at_us bigint,
    end_reason text, exit_status bigint, pid bigint, host text, record_level text, interposer_version text,
    redact_rules text, salt integer, end_commitment integer)
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
    SELECT p.vault, p.uid, p.id, p.name, p.command, p.client_name, p.client_version, p.server_name, p.server_version,
        p.protocol_version, p.started_at_us, p.ended_at_us, p.end_reason, p.exit_status, p.pid, p.host, p.record_level,
        p.interposer_version, p.redact_rules, CASE WHEN p.salt IS NOT NULL THEN 1 END,
        CASE WHEN p.end_commitment IS NOT NULL THEN 1 END
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
-- 64 KiB is not among them: it is read with read_body.
CREATE OR REPLACE FUNCTION read_messages(p_vault text, p_session text, p_from bigint, p_to bigint, p_backwards boolean,
    p_bodies boolean, p_rows bigint, p_bytes bigint)
RETURNS TABLE (seq bigint, t_us bigint, direction text, origin text, kind text, rpc_id text, method text, target text,
    body text, body_offset bigint, body_length integer, size bigint, redactions bigint, action text, request_seq bigint,
    error_code bigint, batch_seq bigint, finding text)
LANGUAGE sql STABLE AS $$
    WITH wanted AS NOT MATERIALIZED (
        SELECT * FROM mcp_interposer.messages m WHERE m.session_uid = p_session AND m.seq BETWEEN p_from AND p_to
    ), page AS (
        (SELECT * FROM wanted w WHERE p_backwards ORDER BY w.seq DESC LIMIT p_rows)
        UNION ALL (SELECT * FROM wanted w WHERE NOT p_backwards ORDER BY w.seq LIMIT p_rows)
    ), summed AS (
        SELECT p.*, CASE WHEN p_bodies THEN sum(CASE WHEN p.body_offset IS NULL THEN octet_length(p.body) END)
                OVER (ORDER BY CASE WHEN p_backwards THEN -p.seq ELSE p.seq END ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
            END AS before
        FROM page p
    )
    SELECT s.seq, s.t_us, s.direction, s.origin, s.kind, s.rpc_id, s.method, s.target,
        CASE WHEN p_bodies AND s.body_offset IS NULL THEN s.body END,
        s.body_offset, CASE WHEN s.body_offset IS NOT NULL THEN octet_length(s.body) END,
        s.size, s.redactions, s.action, s.request_seq, s.error_code, s.batch_seq, s.finding
    FROM summed s WHERE coalesce(s.before, 0) < p_bytes
$$;

-- At most p_max bytes of a body from p_at on.
CREATE OR REPLACE FUNCTION read_body(p_vault text, p_session text, p_seq bigint, p_at integer, p_max integer)
RETURNS TABLE (body bytea) LANGUAGE sql STABLE AS $$
    SELECT substr(convert_to(m.body, 'UTF8'), p_at + 1, p_max)
    FROM mcp_interposer.messages m WHERE m.session_uid = p_session AND m.seq = p_seq
$$;

-- Events with p_from <= id <= p_to, at most p_rows.
CREATE OR REPLACE FUNCTION read_events(p_vault text, p_session text, p_from bigint, p_to bigint, p_backwards boolean,
    p_rows bigint)
RETURNS TABLE (id bigint, t_us bigint, kind text, detail text) LANGUAGE sql STABLE AS $$
    (SELECT e.id, e.t_us, e.kind, e.detail FROM mcp_interposer.events e
        WHERE NOT p_backwards AND e.session_uid = p_session AND e.id BETWEEN p_from AND p_to ORDER BY e.id LIMIT p_rows)
    UNION ALL
    (SELECT e.id, e.t_us, e.kind, e.detail FROM mcp_interposer.events e
        WHERE p_backwards AND e.session_uid = p_session AND e.id BETWEEN p_from AND p_to ORDER BY e.id DESC LIMIT p_rows)
$$;

-- The seals of a session, in the log of its vault: leaves that begin with p_first, which is `{"type":"seal","session":"UID",`.
CREATE OR REPLACE FUNCTION read_seals(p_first text) RETURNS TABLE (n bigint, leaf text) LANGUAGE sql STABLE AS $$
    SELECT l.n, l.leaf FROM mcp_interposer.leaves l
    WHERE substr(l.leaf, 27, 26) = substr(p_first, 27, 26) AND l.leaf LIKE '{"type":"seal","session":"%'
        AND EXISTS (SELECT FROM mcp_interposer.sessions s WHERE s.uid = substr(p_first, 27, 26) AND s.vault = l.vault)
        AND starts_with(l.leaf, p_first)
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
COMMIT;
