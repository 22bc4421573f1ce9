// The packages for npm, from the tarballs to the configuration of a client.

import { installCases } from "./installed.mjs";
import { launcherCases } from "./launcher.mjs";
import { report } from "./lib.mjs";
import { packageCases } from "./packages.mjs";

const tarballs = await packageCases();
await installCases(tarballs);
await launcherCases(tarballs);
process.exit(report());
