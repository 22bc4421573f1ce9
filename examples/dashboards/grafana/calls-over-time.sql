-- Time series: calls of tools in each interval, a line for each server.
SELECT $__timeGroupAlias(at, $__interval), server AS metric, count(*) AS calls
FROM mcp_interposer.calls
WHERE session_uid >= mcp_interposer.uid_at($__timeFrom()::timestamptz - interval '7 days')
    AND session_uid < mcp_interposer.uid_at($__timeTo()::timestamptz)
    AND $__timeFilter(at)
GROUP BY 1, 2
ORDER BY 1, 2
