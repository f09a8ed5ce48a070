// Tries to lock a project and prints what came of it; holds the lock until it is killed or its stdin ends:
// `node take-lock.mjs MODULE PROJECT ADDRESS`.
import { once } from 'node:events'

const [module, project, address] = process.argv.slice(2)
const { lockProject } = await import(module)
// All start at the same moment, when the parent says so.
process.stdout.write('ready\n')
await once(process.stdin, 'data')
try {
  const lock = await lockProject(project, { address })
  process.stdout.write('won\n')
  await once(process.stdin, 'end')
  await lock.release()
} catch (error) {
  process.stdout.write(`refused ${error.name} ${error.owner?.address}\n`)
}
process.exit(0)
