-- Findings by server and host.
SELECT finding, side, server, host, count(*) AS messages, max(at) AS last_at
FROM mcp_interposer.findings
WHERE session_uid >= mcp_interposer.uid_at(coalesce([[{{since}}::timestamptz,]] now() - interval '30 days') - interval '7 days')
    AND at >= coalesce([[{{since}}::timestamptz,]] now() - interval '30 days')
    [[AND at < {{until}}::timestamptz]]
    [[AND host = {{host}}]]
    [[AND server = {{server}}]]
GROUP BY finding, side, server, host
ORDER BY messages DESC, finding, side, server, host
LIMIT 1000
