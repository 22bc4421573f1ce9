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
-- Readers wait behind whoever waits for a lock that they conflict with.
SET LOCAL lock_timeout = '5s';
CREATE SCHEMA IF NOT EXISTS mcp_interposer;
SET LOCAL search_path = mcp_interposer, pg_temp;

-- Ends transactions of a program that hangs. A setting of the administrator is kept; a role may change its own.
CREATE OR REPLACE FUNCTION limit_idling(p_role name) RETURNS void
LANGUAGE plpgsql SET search_path = mcp_interposer, pg_temp AS $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_roles, unnest(rolconfig) AS c WHERE rolname = p_role AND c LIKE 'idle_in_transaction_session_timeout=%') THEN
        EXECUTE format('ALTER ROLE %I SET idle_in_transaction_session_timeout = ''60s''', p_role);
    END IF;
EXCEPTION WHEN insufficient_privilege OR undefined_object THEN     -- a role that somebody else has made, or removed
    NULL;
END $$;

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
    PERFORM limit_idling(login);
    INSERT INTO devices (name, role) VALUES (p_name, login) ON CONFLICT (name) DO UPDATE SET role = excluded.role;
    RETURN login;
END $$;
