-- Time series: the time that 95 % of the answered calls of a day did not exceed, a line for each tool.
SELECT $__timeGroupAlias(at, '1d'), server || ' ' || coalesce(tool, '-') AS metric,
    percentile_disc(0.95) WITHIN GROUP (ORDER BY duration_ms) AS p95_ms
FROM mcp_interposer.calls
WHERE session_uid >= mcp_interposer.uid_at($__timeFrom()::timestamptz - interval '7 days')
    AND session_uid < mcp_interposer.uid_at($__timeTo()::timestamptz)
    AND $__timeFilter(at)
    AND duration_ms IS NOT NULL
GROUP BY 1, 2
ORDER BY 1, 2
