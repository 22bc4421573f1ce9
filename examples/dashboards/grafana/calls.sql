-- Table: calls of tools by server, tool and host.
SELECT server, tool, host, count(*) AS calls, count(*) FILTER (WHERE failed) AS failed,
    round(100.0 * count(*) FILTER (WHERE failed) / count(*), 2) AS failed_percent,
    percentile_disc(0.5) WITHIN GROUP (ORDER BY duration_ms) AS p50_ms,
    percentile_disc(0.95) WITHIN GROUP (ORDER BY duration_ms) AS p95_ms
FROM mcp_interposer.calls
WHERE session_uid >= mcp_interposer.uid_at($__timeFrom()::timestamptz - interval '7 days')
    AND session_uid < mcp_interposer.uid_at($__timeTo()::timestamptz)
    AND $__timeFilter(at)
GROUP BY server, tool, host
ORDER BY calls DESC, server, tool, host
LIMIT 1000
