-- The router of a central store that is spread over several databases, the shards: it has no recordings, but knows on
-- which shard each vault is, and has functions of the same names and arguments as a shard, which run there.
-- docs/fleet-admin.md describes it. Text that `ship init --shards` adds makes those functions, from the catalogue of the first shard.
-- This text is run after begin.sql (ship/postgres), as a superuser, because the language of PL/Proxy is not trusted.
--
-- A shard is reached as the login role of the session: the connection string has its name (get_cluster_partitions).
-- Not used: the roles that PL/Proxy has by itself. Its default is the current role, which is the owner in a function with
-- SECURITY DEFINER; its option default_user takes effect after the first call of a session only; and with a SQL/MED
-- server, a role that may use it may also make a user mapping, and so act as another device.

DO $$
BEGIN
    IF NOT (SELECT rolsuper FROM pg_roles WHERE rolname = current_user) THEN
        RAISE EXCEPTION 'the router must be made by a superuser, and % is none', current_user;
    END IF;
    IF to_regclass('mcp_interposer.vaults') IS NOT NULL THEN
        RAISE EXCEPTION 'this database is a store: the router needs a database of its own';
    END IF;
    IF NOT EXISTS (SELECT FROM pg_available_extensions WHERE name = 'plproxy') THEN
        RAISE EXCEPTION 'PL/Proxy is not installed on this server: install it (Debian: postgresql-%-plproxy)',
            current_setting('server_version_num')::int / 10000;
    END IF;
END $$;

CREATE EXTENSION IF NOT EXISTS plproxy;
CREATE SCHEMA IF NOT EXISTS plproxy;                -- PL/Proxy calls functions of this name
CREATE SCHEMA IF NOT EXISTS mcp_interposer_shards;  -- the functions in PL/Proxy, which nobody else may run

-- One row. `version` and `oldest_client` are those of the shards; `cluster` changes when the list of shards does.
CREATE TABLE IF NOT EXISTS store (
    one boolean PRIMARY KEY DEFAULT true CHECK (one),
    version integer NOT NULL DEFAULT 0,
    oldest_client integer NOT NULL DEFAULT 0,
    router uuid NOT NULL DEFAULT gen_random_uuid(),
    cluster integer NOT NULL DEFAULT 0
);
INSERT INTO store DEFAULT VALUES ON CONFLICT DO NOTHING;

CREATE TABLE IF NOT EXISTS devices (
    name text PRIMARY KEY,
    role name NOT NULL UNIQUE           -- the login role, here and on the shards
);

-- Who may read some devices only. On the shards since `ship init --shards` was run.
CREATE TABLE IF NOT EXISTS readers (
    role name NOT NULL,
    device text NOT NULL REFERENCES devices,
    PRIMARY KEY (role, device)
);

-- `accepts`: new vaults may be placed there.
CREATE TABLE IF NOT EXISTS shards (
    n integer PRIMARY KEY CHECK (n > 0),
    address text NOT NULL,              -- connection string, without a role
    accepts boolean NOT NULL DEFAULT true,
    added_at timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE IF NOT EXISTS placements (
    vault text COLLATE "C" PRIMARY KEY,
    shard integer NOT NULL,
    at timestamptz NOT NULL DEFAULT now()
);

-- ---- administration ----

CREATE OR REPLACE FUNCTION add_reader(p_role name, p_devices text[]) RETURNS void
LANGUAGE plpgsql SET search_path = mcp_interposer, pg_temp AS $$
DECLARE
    unknown text := (SELECT d FROM unnest(p_devices) AS d WHERE d NOT IN (SELECT name FROM devices) LIMIT 1);
BEGIN
    IF unknown IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = '22023', MESSAGE = format('there is no device %s', unknown);
    END IF;
    EXECUTE format('GRANT USAGE ON SCHEMA mcp_interposer TO %I', p_role);
    INSERT INTO readers SELECT p_role, d FROM unnest(p_devices) AS d ON CONFLICT DO NOTHING;
END $$;

-- The shards, in their order. Those that are known keep their number; an address may change.
CREATE OR REPLACE FUNCTION use_shards(p_address text[], p_version integer, p_oldest_client integer) RETURNS void
LANGUAGE plpgsql SET search_path = mcp_interposer, pg_temp AS $$
DECLARE
    known integer := (SELECT count(*) FROM shards);
BEGIN
    IF cardinality(p_address) < known THEN
        RAISE EXCEPTION 'the list has % shards and the router %: a shard cannot be removed; to place no new vaults on it, set accepts = false in mcp_interposer.shards',
            cardinality(p_address), known;
    END IF;
    UPDATE store SET version = p_version, oldest_client = p_oldest_client;
    IF ARRAY(SELECT address FROM shards ORDER BY n) IS DISTINCT FROM p_address THEN
        INSERT INTO shards (n, address) SELECT n, address FROM unnest(p_address) WITH ORDINALITY AS u (address, n)
            ON CONFLICT (n) DO UPDATE SET address = excluded.address;
        UPDATE store SET cluster = cluster + 1;
    END IF;
END $$;

-- Vaults that are on this shard already.
CREATE OR REPLACE FUNCTION learn_vaults(p_shard integer, p_vault text[]) RETURNS void
LANGUAGE plpgsql SET search_path = mcp_interposer, pg_temp AS $$
DECLARE
    p placements;
BEGIN
    INSERT INTO placements (vault, shard) SELECT v, p_shard FROM unnest(p_vault) AS v ON CONFLICT DO NOTHING;
    FOR p IN SELECT * FROM placements WHERE vault = ANY (p_vault) AND shard <> p_shard LOOP
        RAISE WARNING 'the vault % is on shard %, and also on shard %, which is not used for it', p.vault, p.shard, p_shard;
    END LOOP;
END $$;

-- The functions that were made from the catalogue of a shard. They are made again.
CREATE OR REPLACE FUNCTION drop_passed_on() RETURNS void
LANGUAGE plpgsql SET search_path = mcp_interposer, pg_temp AS $$
DECLARE
    f text;
BEGIN
    FOR f IN SELECT format('%I(%s)', p.proname, pg_get_function_identity_arguments(p.oid)) FROM pg_proc p
            WHERE p.pronamespace = 'mcp_interposer_shards'::regnamespace AND p.proname NOT IN ('hello', 'ping') LOOP
        EXECUTE 'DROP FUNCTION mcp_interposer_shards.' || f;
        EXECUTE 'DROP FUNCTION mcp_interposer.' || f;
    END LOOP;
END $$;

-- ---- where a vault is ----

-- By rendezvous hashing: a placement that was lost is found again, while the same shards accept vaults.
CREATE OR REPLACE FUNCTION shard_of(p_vault text) RETURNS integer
LANGUAGE plpgsql STABLE SET search_path = mcp_interposer, pg_temp AS $$
DECLARE
    found integer := (SELECT shard FROM placements WHERE vault = p_vault);
BEGIN
    IF found IS NULL THEN
        found := (SELECT n FROM shards WHERE accepts ORDER BY sha256(convert_to(p_vault || ' ' || n, 'UTF8')), n LIMIT 1);
    END IF;
    IF found IS NULL THEN
        RAISE EXCEPTION USING ERRCODE = '53000', MESSAGE = 'no shard accepts new vaults';
    END IF;
    RETURN found;
END $$;

-- PL/Proxy counts from 0.
CREATE OR REPLACE FUNCTION partition_of(p_vault text) RETURNS integer
LANGUAGE sql STABLE SET search_path = mcp_interposer, pg_temp AS $$
    SELECT shard_of(p_vault) - 1
$$;

-- What a shard does at the beginning of a connection: makes partitions, and says its version.
CREATE OR REPLACE FUNCTION mcp_interposer_shards.hello(p_partition integer, p_client integer, OUT version integer,
                                                       OUT oldest_client integer, OUT device text)
LANGUAGE plproxy AS $$
    CLUSTER mcp_interposer.cluster_name();
    RUN ON p_partition;
    SELECT h.version, h.oldest_client, h.device FROM mcp_interposer.hello(p_client) AS h;
$$;

-- The vault gets its place, and keeps it. Part of vault_state().
CREATE OR REPLACE FUNCTION place_vault(p_vault text) RETURNS void
LANGUAGE plpgsql SET search_path = mcp_interposer, pg_temp AS $$
DECLARE
    shard integer := shard_of(p_vault);
    needed integer := (SELECT version FROM store);
    there integer := (SELECT version FROM mcp_interposer_shards.hello(shard - 1, needed));
BEGIN
    IF there < needed THEN
        RAISE EXCEPTION USING ERRCODE = '55000',
            MESSAGE = format('shard %s: its schema has version %s, and the router needs %s: run ship init --shards',
                             shard, there, needed);
    END IF;
    INSERT INTO placements (vault, shard) VALUES (p_vault, shard) ON CONFLICT DO NOTHING;
END $$;

-- ---- errors ----

CREATE OR REPLACE FUNCTION mcp_interposer_shards.ping(p_partition integer) RETURNS integer LANGUAGE plproxy AS $$
    CLUSTER mcp_interposer.cluster_name();
    RUN ON p_partition;
    SELECT 1;
$$;

-- The first shard that does not answer; NULL: all do.
CREATE OR REPLACE FUNCTION failing_shard(OUT shard integer, OUT message text)
LANGUAGE plpgsql SET search_path = mcp_interposer, pg_temp AS $$
BEGIN
    FOR shard IN SELECT n FROM shards ORDER BY n LOOP
        BEGIN
            PERFORM mcp_interposer_shards.ping(shard - 1);
        EXCEPTION WHEN OTHERS THEN
            message := SQLERRM;
            RETURN;
        END;
    END LOOP;
    shard := NULL;
END $$;

-- Raises an error of a call that was passed on. What a shard says about its caller (MI...) stays as it is; other errors of
-- a shard get its name, and one that did not answer is a connection failure. p_shard NULL: all were called.
CREATE OR REPLACE FUNCTION fail(p_state text, p_message text, p_shard integer) RETURNS void
LANGUAGE plpgsql SET search_path = mcp_interposer, pg_temp AS $$
DECLARE
    remote text := substring(p_message FROM '^\S+\(\d+\): \[.*?\] REMOTE \S+: (.*)$');
    lost text := substring(p_message FROM '^PL/Proxy function \S+: (.*)$');
    f record;
BEGIN
    IF p_shard IS NULL AND (lost IS NOT NULL OR remote IS NOT NULL AND p_state !~ '^(MI|42)') THEN
        SELECT * INTO f FROM failing_shard();
        p_shard := f.shard;
        lost := coalesce(substring(f.message FROM '^PL/Proxy function \S+: (.*)$'), lost);
    END IF;
    IF lost IS NOT NULL THEN
        p_state := '08006';
        p_message := rtrim(regexp_replace(lost, '^(\[[^]]*\] )?(PQ\w+: )?', ''), E'\n');
    ELSIF remote IS NOT NULL THEN
        p_message := remote;
    END IF;
    IF p_shard IS NOT NULL AND (lost IS NOT NULL OR remote IS NOT NULL) AND p_state NOT LIKE 'MI%' THEN
        p_message := format('shard %s: %s', p_shard, p_message);
    END IF;
    RAISE EXCEPTION USING ERRCODE = p_state, MESSAGE = p_message;
END $$;

-- ---- PL/Proxy ----

-- One for each role, because its connections are.
CREATE OR REPLACE FUNCTION cluster_name() RETURNS text LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT 'mcp_interposer ' || session_user
$$;

CREATE OR REPLACE FUNCTION plproxy.get_cluster_version(p_cluster text) RETURNS integer
LANGUAGE sql STABLE SET search_path = mcp_interposer, pg_temp AS $$
    SELECT cluster FROM store
$$;

CREATE OR REPLACE FUNCTION plproxy.get_cluster_partitions(p_cluster text) RETURNS SETOF text
LANGUAGE sql STABLE SET search_path = mcp_interposer, pg_temp AS $$
    SELECT address || ' user=''' || replace(replace(session_user, '\', '\\'), '''', '\''') || '''' FROM shards ORDER BY n
$$;

-- modular_mapping: any number of shards, where PL/Proxy expects a power of two otherwise.
CREATE OR REPLACE FUNCTION plproxy.get_cluster_config(p_cluster text, OUT key text, OUT val text) RETURNS SETOF record
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
    VALUES ('modular_mapping', '1')
$$;

-- ---- a connection ----

-- No shard is asked, because it is not known yet which vault will follow; place_vault() asks its shard.
CREATE OR REPLACE FUNCTION hello(p_client integer, OUT version integer, OUT oldest_client integer, OUT device text)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = mcp_interposer, pg_temp AS $$
BEGIN
    SELECT s.version, s.oldest_client INTO version, oldest_client FROM store s;
    SELECT d.name INTO device FROM devices d WHERE d.role = session_user;
    IF device IS NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'MI001', MESSAGE = format('the role %I is not a device of this store; an '
            'administrator adds one with: mcp-interposer ship init URL --device NAME', session_user);
    END IF;
END $$;

REVOKE ALL ON SCHEMA mcp_interposer, mcp_interposer_shards, plproxy FROM PUBLIC;
-- The functions that are passed on keep their rights, so that readers are not disturbed.
DO $$
DECLARE
    f regprocedure;
BEGIN
    FOR f IN SELECT p.oid::regprocedure FROM pg_proc p
            WHERE p.pronamespace::regnamespace::text IN ('mcp_interposer', 'mcp_interposer_shards', 'plproxy')
                AND NOT (p.prosecdef AND p.proname <> 'hello') LOOP
        EXECUTE format('REVOKE ALL ON FUNCTION %s FROM PUBLIC', f);
    END LOOP;
END $$;
GRANT USAGE ON SCHEMA mcp_interposer TO mcp_interposer_device, mcp_interposer_reader;
GRANT EXECUTE ON FUNCTION hello(integer) TO mcp_interposer_device;
