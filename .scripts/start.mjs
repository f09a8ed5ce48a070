// `npm start`: from a fresh clone to a real agent at work, with no account and no question asked.
import path from 'node:path'
import { root, run, say, setup, turbo } from './setup.mjs'

await setup()
const built = await turbo(['build'])
if (built !== 0) {
  say('The build failed; its output above says why.')
  process.exit(built)
}
process.exitCode = await run(process.execPath, [path.join(root, 'apps', 'cli', 'dist', 'demo', 'demo.js')])
