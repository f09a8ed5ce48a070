// `npm start`: opens the dashboard with a demo from a fresh clone, without an account or a question.
import path from 'node:path'
import { root, run, say, setup, turbo } from './setup.mjs'

await setup({ agents: false })
say('Building')
const built = await turbo(['build', '--filter=@chirality/cli', '--filter=@chirality/web'])
if (built !== 0) {
  say('The build failed; its output above says why.')
  process.exit(built)
}
const chirality = path.join(root, 'apps', 'cli', 'bin', 'chirality.mjs')
process.exitCode = await run(process.execPath, [chirality, 'serve', '--demo', ...process.argv.slice(2)])
