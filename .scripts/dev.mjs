// `npm run dev [-- options of chirality serve]`: server and dashboard from the sources. The server starts again when one of its
// files changes, the page updates itself. A browser stays signed in across restarts.
import path from 'node:path'
import { root, run, say, setup } from './setup.mjs'

await setup()
const cli = path.join(root, 'apps', 'cli')
const web = path.join(root, 'apps', 'web')
const serve = ['serve', '--demo', '--no-open', '--port', '4096', ...process.argv.slice(2)]
say('Open the sign-in link with 127.0.0.1:5173 instead of 127.0.0.1:4096 to see the page from its sources.')
const programs = [
  run(
    process.execPath,
    ['--watch', '--import', 'tsx', '--conditions=@chirality/source', 'dev.ts', ...serve],
    {
      cwd: cli,
    },
  ),
  run(
    path.join(web, 'node_modules', '.bin', 'vite'),
    ['--host', '127.0.0.1', '--port', '5173', '--strictPort'],
    {
      cwd: web,
    },
  ),
]
process.exitCode = await Promise.race(programs)
// When either process ends, the other is stopped.
process.emit('SIGTERM', 'SIGTERM')
await Promise.all(programs)
