-- Servers that had different tools on different machines or at different times, a row for each list of tools.
SELECT server, hash, max(tools) AS tools, count(*) AS sessions, count(DISTINCT host) AS hosts,
    string_agg(DISTINCT host, ', ') AS host_names, string_agg(DISTINCT server_version, ', ') AS versions,
    min(at) AS first_at, max(at) AS last_at
FROM (
    SELECT *, min(hash) OVER w <> max(hash) OVER w AS differs
    FROM mcp_interposer.tool_lists
    WHERE session_uid >= mcp_interposer.uid_at(coalesce([[{{since}}::timestamptz,]] now() - interval '30 days') - interval '7 days')
        AND at >= coalesce([[{{since}}::timestamptz,]] now() - interval '30 days')
        [[AND at < {{until}}::timestamptz]]
        [[AND host = {{host}}]]
        [[AND server = {{server}}]]
    WINDOW w AS (PARTITION BY server)) AS lists
WHERE differs
GROUP BY server, hash
ORDER BY server, last_at DESC, hash
LIMIT 1000
