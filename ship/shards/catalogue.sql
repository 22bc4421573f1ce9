-- Run on a shard: one row, the SQL that makes the functions of the router. They are those that devices and readers may
-- run here. One whose first parameter is p_vault runs on the shard of that vault; read_* run on all shards.
SELECT string_agg(f.text, E'\n' ORDER BY f.name)
FROM (
    SELECT g.name, format($t$
CREATE FUNCTION mcp_interposer_shards.%1$I(%2$s) RETURNS %3$s LANGUAGE plproxy AS $f$
    CLUSTER mcp_interposer.cluster_name();
    RUN ON %4$s;
    TARGET mcp_interposer.%1$I;
$f$;
REVOKE ALL ON FUNCTION mcp_interposer_shards.%1$I(%5$s) FROM PUBLIC;
CREATE FUNCTION mcp_interposer.%1$I(%2$s) RETURNS %3$s LANGUAGE plpgsql SECURITY DEFINER
SET search_path = mcp_interposer, pg_temp SET client_min_messages = error AS $f$
BEGIN
    %6$s
EXCEPTION WHEN OTHERS THEN
    PERFORM mcp_interposer.fail(SQLSTATE, SQLERRM, %7$s);
END $f$;
REVOKE ALL ON FUNCTION mcp_interposer.%1$I(%5$s) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION mcp_interposer.%1$I(%5$s) TO %8$s;
$t$, g.name, g.arguments, g.result,
            CASE WHEN g.vault THEN 'mcp_interposer.partition_of(p_vault)' ELSE 'ALL' END,
            g.identity,
            CASE WHEN g.name = 'vault_state' THEN 'PERFORM mcp_interposer.place_vault(p_vault); ' ELSE '' END ||
            CASE
                WHEN g.set THEN 'RETURN QUERY SELECT x.* FROM ' || g.call || ' AS x;'
                WHEN g.outputs IS NOT NULL THEN 'SELECT x.* INTO ' || g.outputs || ' FROM ' || g.call || ' AS x;'
                WHEN g.result = 'void' THEN 'PERFORM ' || g.call || ';'
                ELSE 'RETURN ' || g.call || ';'
            END,
            CASE WHEN g.vault THEN 'mcp_interposer.shard_of(p_vault)' ELSE 'NULL' END,
            g.roles) AS text
    FROM (
        SELECT p.proname AS name, p.proretset AS set,
            coalesce(p.proargnames[1] = 'p_vault', false) AS vault,
            pg_catalog.pg_get_function_arguments(p.oid) AS arguments,
            pg_catalog.pg_get_function_identity_arguments(p.oid) AS identity,
            -- the rows of a table that the router does not have
            coalesce((SELECT 'TABLE (' || string_agg(format('%I %s', a.attname, pg_catalog.format_type(a.atttypid, a.atttypmod)),
                                                     ', ' ORDER BY a.attnum) || ')'
                      FROM pg_catalog.pg_type t JOIN pg_catalog.pg_attribute a ON a.attrelid = t.typrelid
                      WHERE t.oid = p.prorettype AND t.typrelid <> 0 AND a.attnum > 0 AND NOT a.attisdropped),
                     pg_catalog.pg_get_function_result(p.oid)) AS result,
            CASE WHEN NOT p.proretset THEN
                (SELECT string_agg(quote_ident(u.name), ', ' ORDER BY u.i)
                 FROM unnest(p.proargnames, p.proargmodes) WITH ORDINALITY AS u (name, mode, i) WHERE u.mode IN ('o', 'b'))
            END AS outputs,
            format('mcp_interposer_shards.%I(%s)', p.proname,
                   (SELECT string_agg('$' || i, ', ' ORDER BY i) FROM generate_series(1, p.pronargs) AS i)) AS call,
            r.roles
        FROM pg_catalog.pg_proc p,
            LATERAL (SELECT string_agg(CASE a.grantee WHEN 0 THEN 'PUBLIC' ELSE pg_catalog.pg_get_userbyid(a.grantee) END, ', ') AS roles
                     FROM pg_catalog.aclexplode(coalesce(p.proacl, pg_catalog.acldefault('f', p.proowner))) AS a
                     WHERE a.grantee = 0
                        OR pg_catalog.pg_get_userbyid(a.grantee) IN ('mcp_interposer_device', 'mcp_interposer_reader')) AS r
        WHERE p.pronamespace = 'mcp_interposer'::regnamespace AND p.prokind = 'f' AND r.roles IS NOT NULL
            AND (p.proargnames[1] = 'p_vault' OR p.proname LIKE 'read\_%')
    ) AS g
) AS f
