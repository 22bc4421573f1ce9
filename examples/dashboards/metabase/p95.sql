-- The time that 95 % of the answered calls of a day did not exceed, by tool.
SELECT date_trunc('day', at) AS day, server, tool,
    percentile_disc(0.95) WITHIN GROUP (ORDER BY duration_ms) AS p95_ms
FROM mcp_interposer.calls
WHERE session_uid >= mcp_interposer.uid_at(coalesce([[{{since}}::timestamptz,]] now() - interval '30 days') - interval '7 days')
    AND at >= coalesce([[{{since}}::timestamptz,]] now() - interval '30 days')
    [[AND at < {{until}}::timestamptz]]
    [[AND host = {{host}}]]
    [[AND server = {{server}}]]
    AND duration_ms IS NOT NULL
GROUP BY 1, 2, 3
ORDER BY 1, 2, 3
