-- Table: tools that some machines have and others do not, by the newest list of each machine and server.
WITH newest AS (
    SELECT DISTINCT ON (server, host) server, host, names
    FROM mcp_interposer.tool_lists
    WHERE session_uid >= mcp_interposer.uid_at($__timeFrom()::timestamptz - interval '7 days')
        AND session_uid < mcp_interposer.uid_at($__timeTo()::timestamptz)
        AND $__timeFilter(at)
    ORDER BY server, host, at DESC),
known AS (SELECT DISTINCT server, unnest(names) AS tool FROM newest)
SELECT k.server, k.tool, count(*) FILTER (WHERE k.tool = ANY (n.names)) AS hosts_with,
    string_agg(n.host, ', ' ORDER BY n.host) FILTER (WHERE k.tool <> ALL (n.names)) AS missing_on
FROM known k JOIN newest n USING (server)
GROUP BY k.server, k.tool
HAVING count(*) > count(*) FILTER (WHERE k.tool = ANY (n.names))
ORDER BY k.server, k.tool
LIMIT 1000
