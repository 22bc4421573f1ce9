-- Time series: percentage of calls that failed on each day, a line for each server.
SELECT $__timeGroupAlias(at, '1d'), server AS metric,
    round(100.0 * count(*) FILTER (WHERE failed) / count(*), 2) AS failed_percent
FROM mcp_interposer.calls
WHERE session_uid >= mcp_interposer.uid_at($__timeFrom()::timestamptz - interval '7 days')
    AND session_uid < mcp_interposer.uid_at($__timeTo()::timestamptz)
    AND $__timeFilter(at)
GROUP BY 1, 2
ORDER BY 1, 2
