// `npm run proof [-- WORD…]`: plays the corpus of cheats and honest tasks through real loops, and says how many cheats end as
// plain proved, and how many honest tasks get a flag that is wrong. Without words all of it, and the rates in docs/loops.md are
// written anew; with words only what contains one of them. The runners are installed once, in a cache outside of the
// repository: CHIRALITY_CACHE, or ~/.cache/chirality.
import path from 'node:path'
import { install } from './published-agents.mjs'
import { root, run, setup } from './setup.mjs'

/** Together: projects link to one folder. Change the number when a version changes. */
const RUNNERS = [
  'proof-runners@1',
  'ava@6.4.1',
  'mocha@12.0.3',
  'jest@30.5.2',
  '@playwright/test@1.65.1',
  'tape@5.10.2',
  'uvu@0.5.6',
  'vitest@3.2.7',
]

await setup({ agents: false })
const folder = await install(...RUNNERS)
process.exitCode = await run(
  process.execPath,
  ['--import', 'tsx', '--conditions=@chirality/source', 'corpus/index.ts', ...process.argv.slice(2)],
  {
    cwd: path.join(root, 'packages', 'loops'),
    env: { CHIRALITY_PROOF_MODULES: path.join(folder, 'node_modules') },
  },
)
