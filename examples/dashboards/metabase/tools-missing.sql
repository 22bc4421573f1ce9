-- Tools that some machines have and others do not, by the newest list of each machine and server.
WITH newest AS (
    SELECT DISTINCT ON (server, host) server, host, names
    FROM mcp_interposer.tool_lists
    WHERE session_uid >= mcp_interposer.uid_at(coalesce([[{{since}}::timestamptz,]] now() - interval '30 days') - interval '7 days')
        AND at >= coalesce([[{{since}}::timestamptz,]] now() - interval '30 days')
        [[AND at < {{until}}::timestamptz]]
        [[AND host = {{host}}]]
        [[AND server = {{server}}]]
    ORDER BY server, host, at DESC),
known AS (SELECT DISTINCT server, unnest(names) AS tool FROM newest)
SELECT k.server, k.tool, count(*) FILTER (WHERE k.tool = ANY (n.names)) AS hosts_with,
    string_agg(n.host, ', ' ORDER BY n.host) FILTER (WHERE k.tool <> ALL (n.names)) AS missing_on
FROM known k JOIN newest n USING (server)
GROUP BY k.server, k.tool
HAVING count(*) > count(*) FILTER (WHERE k.tool = ANY (n.names))
ORDER BY k.server, k.tool
LIMIT 1000
