-- Percentage of calls that failed on each day, by server.
SELECT date_trunc('day', at) AS day, server,
    round(100.0 * count(*) FILTER (WHERE failed) / count(*), 2) AS failed_percent
FROM mcp_interposer.calls
WHERE session_uid >= mcp_interposer.uid_at(coalesce([[{{since}}::timestamptz,]] now() - interval '30 days') - interval '7 days')
    AND at >= coalesce([[{{since}}::timestamptz,]] now() - interval '30 days')
    [[AND at < {{until}}::timestamptz]]
    [[AND host = {{host}}]]
    [[AND server = {{server}}]]
GROUP BY 1, 2
ORDER BY 1, 2
