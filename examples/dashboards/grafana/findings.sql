-- Table: findings by server and host.
SELECT finding, side, server, host, count(*) AS messages, max(at) AS last_at
FROM mcp_interposer.findings
WHERE session_uid >= mcp_interposer.uid_at($__timeFrom()::timestamptz - interval '7 days')
    AND session_uid < mcp_interposer.uid_at($__timeTo()::timestamptz)
    AND $__timeFilter(at)
GROUP BY finding, side, server, host
ORDER BY messages DESC, finding, side, server, host
LIMIT 1000
