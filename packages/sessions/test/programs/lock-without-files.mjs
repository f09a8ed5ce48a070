// Locks a project, looks at its lock while no file can be opened, and again when some can: `node lock-without-files.mjs MODULE PROJECT`.
import { closeSync, openSync } from 'node:fs'

const [module, project] = process.argv.slice(2)
const { lockProject, findProjectOwner } = await import(module)
let lost = false
const lock = await lockProject(project, {
  address: 'here',
  onLost: () => {
    lost = true
  },
})
const taken = []
try {
  for (;;) taken.push(openSync('/dev/null'))
} catch {}
const during = await lock.check()
for (const fd of taken) closeSync(fd)
const after = await lock.check()
const { address } = await findProjectOwner(project)
await lock.release()
process.stdout.write(
  JSON.stringify({ during, after, lost, address, owner: (await findProjectOwner(project)) ?? null }),
)
process.exit(0)
