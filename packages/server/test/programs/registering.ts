import { once } from 'node:events'
import { mkdirSync } from 'node:fs'
import path from 'node:path'
import { ProjectRegistry } from '@chirality/centre'

const [home = '', folder = '', name = '', count = ''] = process.argv.slice(2)
const registry = new ProjectRegistry(home)
const roots = Array.from({ length: Number(count) }, (_, index) => path.join(folder, `${name}-${index}`))
for (const root of roots) mkdirSync(root)
process.stdout.write('ready\n')
await once(process.stdin, 'data')

await registry.add(path.join(folder, 'shared'), name === 'server-0' ? 'Named' : undefined)
for (const [index, root] of roots.entries()) {
  await registry.add(root)
  if (index % 2 === 0) await registry.remove(root)
}
process.exit(0)
