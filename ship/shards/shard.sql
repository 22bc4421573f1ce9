-- What a store has that is a shard of a router, besides the tables and functions of every store.

-- The router that this store is a shard of, and its number there. No row: none.
CREATE TABLE IF NOT EXISTS mcp_interposer.shard (
    one boolean PRIMARY KEY DEFAULT true CHECK (one),
    router uuid NOT NULL,
    n integer NOT NULL
);

-- This store is shard number p_n of a router. p_new: or becomes it, unless it is another one.
CREATE OR REPLACE FUNCTION mcp_interposer.be_shard(p_router uuid, p_n integer, p_new boolean) RETURNS void
LANGUAGE plpgsql SET search_path = mcp_interposer, pg_temp AS $$
DECLARE
    s shard;
BEGIN
    SELECT * INTO s FROM shard;
    IF s.n IS NULL AND NOT p_new THEN
        RAISE EXCEPTION 'this is not the database that was shard % before: a shard cannot be replaced or removed', p_n;
    ELSIF s.router <> p_router THEN
        RAISE EXCEPTION 'this database is a shard of another router';
    ELSIF s.n <> p_n THEN
        RAISE EXCEPTION 'this database is shard %, and not shard %: keep the order of the lines, and add new ones at the end',
            s.n, p_n;
    END IF;
    INSERT INTO shard (router, n) VALUES (p_router, p_n) ON CONFLICT DO NOTHING;
END $$;

REVOKE ALL ON FUNCTION mcp_interposer.be_shard FROM PUBLIC;
