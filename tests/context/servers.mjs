// The servers whose definitions are compared. Those with `held` were not used to find the weights of base/tokens.c.
// Keys are invalid: servers only want to see one before they list their tools.
const all = [
  { name: "brave-search", bin: "mcp-server-brave-search", env: { BRAVE_API_KEY: "none" } },
  { name: "everything", bin: "mcp-server-everything" },
  { name: "filesystem", bin: "mcp-server-filesystem", args: ["."] },
  { name: "github", bin: "mcp-server-github" },
  { name: "google-maps", bin: "mcp-server-google-maps", env: { GOOGLE_MAPS_API_KEY: "none" } },
  { name: "memory", bin: "mcp-server-memory" },
  { name: "playwright", bin: "playwright-mcp" },
  { name: "puppeteer", bin: "mcp-server-puppeteer" },
  { name: "sequential-thinking", bin: "mcp-server-sequential-thinking" },
  { name: "slack", bin: "mcp-server-slack", env: { SLACK_BOT_TOKEN: "none", SLACK_TEAM_ID: "none" } },
  { name: "tavily", bin: "tavily-mcp", env: { TAVILY_API_KEY: "none" } },
  { name: "chrome-devtools", bin: "chrome-devtools-mcp", env: { CHROME_DEVTOOLS_MCP_NO_USAGE_STATISTICS: "1" }, long: true },
  { name: "firecrawl", bin: "firecrawl-mcp", env: { FIRECRAWL_API_KEY: "fc-none" }, long: true },
  { name: "context7", bin: "context7-mcp", held: true },
  { name: "eslint", bin: "mcp", held: true },
  { name: "chart", bin: "mcp-server-chart", held: true, long: true },
  { name: "circleci", bin: "mcp-server-circleci", env: { CIRCLECI_TOKEN: "none" }, held: true, long: true },
  { name: "gitlab", bin: "mcp-gitlab", env: { GITLAB_PERSONAL_ACCESS_TOKEN: "none" }, held: true, long: true },
  { name: "notion", bin: "notion-mcp-server", env: { NOTION_TOKEN: "none" }, held: true, long: true },
];

export const servers = all.filter((s) => !s.long || process.env.TEST_LONG === "1");
