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
    oldest_client integer NOT NULL
);
ALTER TABLE store DROP COLUMN IF EXISTS partitions_at;     -- of older schemas, in which devices made partitions
DO $$
DECLARE
    found integer := (SELECT version FROM mcp_interposer.store);
BEGIN
    IF found > 2 THEN
        RAISE EXCEPTION 'the schema has version %, which is newer than 2: use a newer mcp-interposer-ship', found;
    END IF;
    INSERT INTO mcp_interposer.store (version, oldest_client) VALUES (2, 1)
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

-- Columns up to `tree`, `cwd` and `tools_rule` are those of the vault's table `sessions`; `id` is the number there.
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

-- New in version 2; NULL in rows of older shippers. `call_seq`: `call_rows` has the calls of the messages up to this one;
-- NULL: of all messages. The default of the first statement is that of the sessions that are here already, and costs no time.
ALTER TABLE sessions ADD COLUMN IF NOT EXISTS call_seq bigint DEFAULT 0;
ALTER TABLE sessions ALTER COLUMN call_seq DROP DEFAULT;
ALTER TABLE sessions ADD COLUMN IF NOT EXISTS cwd text;
ALTER TABLE sessions ADD COLUMN IF NOT EXISTS tools_rule text;
ALTER TABLE messages ADD COLUMN IF NOT EXISTS revision text;
CREATE INDEX IF NOT EXISTS sessions_to_fill ON sessions (uid) WHERE call_seq IS NOT NULL;
-- The first answer that may belong to an operation (operations.sql); NULL: none; 0: of a session from before this column, not known.
ALTER TABLE sessions ADD COLUMN IF NOT EXISTS link_seq bigint DEFAULT 0;
ALTER TABLE sessions ALTER COLUMN link_seq DROP DEFAULT;
CREATE INDEX IF NOT EXISTS sessions_with_links ON sessions (uid) WHERE link_seq IS NOT NULL;

-- Requests of either side, as the vault's table `calls`; seq is that of the request. Nobody sends them: they follow from the
-- messages (calls.sql).
CREATE TABLE IF NOT EXISTS call_rows (
    session_uid text COLLATE "C" NOT NULL,
    seq bigint NOT NULL,
    closing_seq bigint,
    t_us bigint NOT NULL,
    duration_us bigint,
    request_size bigint NOT NULL,
    response_size bigint,
    error_code bigint,
    operation_seq bigint,
    result_tokens bigint,
    direction text NOT NULL,
    origin text NOT NULL,
    method text, target text,
    status text NOT NULL,
    revision text,
    PRIMARY KEY (session_uid, seq)
) PARTITION BY RANGE (session_uid);
-- Those of the interposer are few: own_answers() looks for them.
CREATE INDEX IF NOT EXISTS call_rows_own ON call_rows (session_uid, seq) WHERE origin = 'interposer';

CREATE TABLE IF NOT EXISTS messages_other PARTITION OF messages DEFAULT;
CREATE TABLE IF NOT EXISTS events_other PARTITION OF events DEFAULT;
CREATE TABLE IF NOT EXISTS call_rows_other PARTITION OF call_rows DEFAULT;

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
    FOREACH t IN ARRAY ARRAY['devices', 'vaults', 'leaves', 'checkpoints', 'sessions', 'messages', 'events', 'call_rows', 'replaced',
            'readers'] LOOP
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
DROP POLICY IF EXISTS own_rows ON call_rows;
CREATE POLICY own_rows ON call_rows FOR SELECT USING (EXISTS (SELECT FROM mcp_interposer.sessions s WHERE s.uid = session_uid));
-- Whoever was given the messages before there were `call_rows` reads the views of calls as before.
DO $$
DECLARE
    reader name;
BEGIN
    FOR reader IN SELECT pg_get_userbyid(a.grantee) FROM pg_class c, aclexplode(c.relacl) AS a
            WHERE c.oid = 'mcp_interposer.messages'::regclass AND a.privilege_type = 'SELECT' AND a.grantee <> 0 LOOP
        EXECUTE format('GRANT SELECT ON mcp_interposer.call_rows TO %I', reader);
    END LOOP;
END $$;
REVOKE ALL ON SCHEMA mcp_interposer FROM PUBLIC;
GRANT USAGE ON SCHEMA mcp_interposer TO mcp_interposer_device, mcp_interposer_reader;
